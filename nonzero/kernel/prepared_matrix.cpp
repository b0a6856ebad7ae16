#include <algorithm>
#include <functional>

#include <nonzero/core/array.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>
#include <nonzero/kernel/step_rows_internal.hpp>

namespace nz {
namespace {

/// A kernel reads x while it writes y.
template <class V> void require_apart(std::span<const V> x, std::span<const V> y) {
  const std::less<const V*> before;  // defined also for unrelated pointers
  if (!x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
      before(y.data(), x.data() + x.size()))
    throw shape_error("x and y overlap in memory; multiply into another vector");
}

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const std::less<const char*> before;
  const auto *a_begin = static_cast<const char*>(a), *b_begin = static_cast<const char*>(b);
  return a != nullptr && b != nullptr && a_bytes > 0 && b_bytes > 0 && before(a_begin, b_begin + b_bytes) &&
         before(b_begin, a_begin + a_bytes);
}

/// A kernel may write a row's numbers before it reads those of another.
template <class V>
void require_step_fits(std::span<const V> x, const fused_step<V>& step, std::span<const V> y,
                       std::size_t sums) {
  if (sums < static_cast<std::size_t>(step.sums()))
    throw shape_error("the step has " + std::to_string(step.sums()) + " sums, and there is room for " +
                      std::to_string(sums));
  const std::size_t bytes = y.size() * sizeof(V);
  const auto require_unwritten = [&](const V* read, std::size_t read_bytes) {
    if (overlap(read, read_bytes, y.data(), bytes) || overlap(read, read_bytes, step.scaled, bytes))
      throw shape_error("a fused step writes y and scaled, which must not overlap what it reads");
  };
  require_unwritten(x.data(), x.size() * sizeof(V));
  for (const V* read : {step.b, step.c, step.scale, step.count, step.measure[0].with, step.measure[1].with})
    require_unwritten(read, bytes);
  if (overlap(y.data(), bytes, step.scaled, bytes))
    throw shape_error("a fused step writes both y and scaled, which must not overlap");
}

}  // namespace

template <class V>
void prepared_matrix<V>::multiply(V alpha, std::span<const V> x, V beta, std::span<V> y) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_apart<V>(x, y);
  if (on_->is_host()) return run(alpha, x.data(), beta, y.data(), {});
  const vector<V> device_x(on_, x);
  vector<V> device_y(on_, y.size());
  if (beta != V{0}) device_y.copy_from(y);
  run(alpha, device_x.data(), beta, device_y.data(), {});
  device_y.copy_to(y);
}

template <class V>
void prepared_matrix<V>::multiply(V alpha, vector_view<const V> x, V beta, vector_view<V> y,
                                  stream in) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_apart<V>({x.data(), x.size()}, {y.data(), y.size()});
  const auto is_here = [&](const auto& v) { return v.size() == 0 || v.where() == on_; };
  if (!is_here(x) || !is_here(y))
    throw device_error("x and y must be on the device that the matrix is on: " + on_->description());
  run(alpha, x.data(), beta, y.data(), in);
}

template <class V>
void prepared_matrix<V>::apply(vector_view<const V> x, const fused_step<V>& step, vector_view<V> y,
                               vector_view<double> sums, stream in, std::size_t at) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_step_fits<V>({x.data(), x.size()}, step, {y.data(), y.size()},
                       sums.size() - std::min(at, sums.size()));
  const auto is_here = [&](const auto& v) { return v.size() == 0 || v.where() == on_; };
  if (!is_here(x) || !is_here(y) || !is_here(sums))
    throw device_error("x, y and the sums must be on the device that the matrix is on: " +
                       on_->description());
  run_step(x.data(), step, y.data(), sums.data() + at, in);
}

template <class V>
void prepared_matrix<V>::apply(std::span<const V> x, const fused_step<V>& step, std::span<V> y,
                               std::span<double> sums) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_step_fits<V>(x, step, y, sums.size());
  if (!on_->is_host())
    throw unsupported("a fused step there takes vectors that are there: this matrix is on " +
                      on_->description());
  run_step(x.data(), step, y.data(), sums.data(), {});
}

template <class V>
double prepared_matrix<V>::apply(std::span<const V> x, const rows_epilogue<V>& epilogue) const {
  require_vectors_fit(rows_, cols_, x.size(), static_cast<std::size_t>(rows_));
  if (!on_->is_host())
    throw unsupported("an epilogue of one's own needs a kernel of the CPU; this matrix is on " +
                      on_->description());
  return run_fused(x.data(),
                   [&](index first, std::span<V> sums) {
                     return step_sums{epilogue(first, sums), 0.0};
                   })
      .first;
}

template <class V> std::uint64_t prepared_matrix<V>::traffic() const {
  const auto numbers = static_cast<std::uint64_t>(rows_) + static_cast<std::uint64_t>(cols_);
  return storage().bytes + numbers * sizeof(V);
}

template <class V>
step_sums prepared_matrix<V>::run_fused(const V* x, const chunk_epilogue<V>& epilogue) const {
  constexpr index chunk = 1024;
  array<V> sums(static_cast<std::size_t>(rows_));
  run(V{1}, x, V{0}, sums.data(), {});
  step_sums total;
  for (index first = 0; first < rows_; first += chunk)
    total +=
        epilogue(first, std::span(sums).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(std::min(chunk, rows_ - first))));
  return total;
}

template <class V>
void prepared_matrix<V>::run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream) const {
  if (!on_->is_host()) throw unsupported("this kernel has no fused steps on " + on_->description());
  const fused_step<V> ready = with_shift_read(step);
  const step_sums total = run_fused(
      x, [&](index first, std::span<const V> row_sums) { return finish_rows(ready, first, row_sums, y); });
  if (step.sums() > 0) sums[0] = total.first;
  if (step.sums() > 1) sums[1] = total.second;
}

#define NONZERO_INSTANTIATE(V) template class prepared_matrix<V>;
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
