#include <algorithm>
#include <cmath>
#include <functional>

#include <nonzero/core/array.hpp>
#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {
namespace {

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const std::less<const char*> before;
  const auto *a_begin = static_cast<const char*>(a), *b_begin = static_cast<const char*>(b);
  return a != nullptr && b != nullptr && a_bytes > 0 && b_bytes > 0 && before(a_begin, b_begin + b_bytes) &&
         before(b_begin, a_begin + a_bytes);
}

template <class V> void require_there(std::span<const V> x, std::span<const V> y = {}) {
  if ((x.data() == nullptr && !x.empty()) || (y.data() == nullptr && !y.empty()))
    throw shape_error("x or y is a null pointer with a length above 0");
}

/// A kernel reads x while it writes y.
template <class V> void require_apart(std::span<const V> x, std::span<const V> y) {
  require_there(x, y);
  if (overlap(x.data(), x.size_bytes(), y.data(), y.size_bytes()))
    throw shape_error("x and y overlap in memory; multiply into another vector");
}

/// A kernel may write one row before it reads another: what is written must not overlap what is read.
template <class V>
void require_step_fits(std::span<const V> x, const fused_step<V>& step, std::span<const V> y,
                       std::size_t sums) {
  require_there(x, y);
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

template <class... Views> bool are_on(const device* on, const Views&... views) {
  return (... && (views.size() == 0 || views.where() == on));
}

/// Rows at a time: few enough that what one loop writes is in L1 for the next.
constexpr std::size_t block = 512;

/// Eight sums at once, so that no addition waits for the one before.
template <class Term> double sum_of(std::size_t count, Term term) {
  constexpr std::size_t width = 8;
  double sums[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width)
    for (std::size_t e = 0; e < width; ++e) sums[e] += term(i + e);
  double rest = 0;
  for (; i < count; ++i) rest += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) + rest;
}

/// The measure's sum over at most `block` rows, each counted times[i] times, or once if `times` is null.
template <class V>
double measure_rows(const row_measure<V>& measure, const V* y, const V* times, index first,
                    std::size_t count) {
  const auto sum = [=](auto term) {
    if (times == nullptr) return sum_of(count, term);
    return sum_of(count, [=](std::size_t i) { return static_cast<double>(times[i]) * term(i); });
  };
  const auto v = [y](std::size_t i) { return static_cast<double>(y[i]); };
  const V* const with = measure.with == nullptr ? nullptr : measure.with + first;
  const auto w = [with](std::size_t i) { return static_cast<double>(with[i]); };
  switch (measure.what) {
    case measured::nothing:
      return 0;
    case measured::product:
      return with == nullptr ? sum(v) : sum([=](std::size_t i) { return v(i) * w(i); });
    case measured::distance:
      return with == nullptr ? sum([=](std::size_t i) { return std::abs(v(i)); })
                             : sum([=](std::size_t i) { return std::abs(v(i) - w(i)); });
    case measured::where_zero: {
      if (with == nullptr) return sum(v);
      // In two loops: compilers do not vectorise one that chooses and adds.
      V chosen[block];
      for (std::size_t i = 0; i < count; ++i) {
        const V value = y[i];
        chosen[i] = with[i] == V{0} ? value : V{0};
      }
      return sum([&chosen](std::size_t i) { return static_cast<double>(chosen[i]); });
    }
    case measured::squared_distance:
      return with == nullptr ? sum([=](std::size_t i) { return v(i) * v(i); })
                             : sum([=](std::size_t i) { return (v(i) - w(i)) * (v(i) - w(i)); });
  }
  return 0;
}

template <class V>
void find_values(const fused_step<V>& step, index first, const V* sums, std::size_t count, V* y) {
  const V alpha = step.alpha, beta = step.beta, shift = step.shift;
  const V *const b = step.b == nullptr ? nullptr : step.b + first, *const c = step.c == nullptr
                                                                                  ? nullptr
                                                                                  : step.c + first;
  if (b == nullptr && c == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + shift;
  else if (c == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + beta * b[i] + shift;
  else if (b == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + shift * c[i];
  else
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + beta * b[i] + shift * c[i];
  if (step.scaled == nullptr) return;
  V* const scaled = step.scaled + first;
  if (step.scale == nullptr) {
    std::copy_n(y, count, scaled);
  } else {
    const V* const scale = step.scale + first;
    for (std::size_t i = 0; i < count; ++i) scaled[i] = y[i] * scale[i];
  }
}

/// The step with its shift read from memory, once and first: it may be where this step writes its sums.
template <class V> fused_step<V> with_shift_read(fused_step<V> step) {
  if (step.shift_from != nullptr)
    step.shift = static_cast<V>(step.shift + step.shift_factor * *step.shift_from);
  step.shift_from = nullptr;
  return step;
}

/// Finishes consecutive rows, whose sums are given: writes y and scaled, and returns what the rows add to the
/// step's sums. In loops that compilers vectorise.
template <class V>
step_sums finish_rows(const fused_step<V>& step, index first, std::span<const V> sums, V* y) {
  step_sums total;
  for (std::size_t done = 0; done < sums.size(); done += block) {
    const std::size_t count = std::min(block, sums.size() - done);
    const auto row = static_cast<index>(static_cast<std::size_t>(first) + done);
    find_values(step, row, sums.data() + done, count, y + row);
    const V* const times = step.count == nullptr ? nullptr : step.count + row;
    total += {measure_rows(step.measure[0], y + row, times, row, count),
              measure_rows(step.measure[1], y + row, times, row, count)};
  }
  return total;
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
  if (!are_on(on_.get(), x, y))
    throw device_error("x and y must be on the device that the matrix is on: " + on_->description());
  run(alpha, x.data(), beta, y.data(), in);
}

template <class V>
void prepared_matrix<V>::apply(vector_view<const V> x, const fused_step<V>& step, vector_view<V> y,
                               vector_view<double> sums, stream in, std::size_t at) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_step_fits<V>({x.data(), x.size()}, step, {y.data(), y.size()},
                       sums.size() - std::min(at, sums.size()));
  if (!are_on(on_.get(), x, y, sums))
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
  require_there(x);
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
