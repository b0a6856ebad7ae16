#include <algorithm>
#include <functional>

#include <nonzero/core/array.hpp>
#include <nonzero/core/shapes.hpp>
#include <nonzero/formats/prepared_matrix.hpp>

namespace nz {
namespace {

/// A kernel reads x while it writes y.
template <class V> void require_apart(std::span<const V> x, std::span<const V> y) {
  const std::less<const V*> before;  // defined also for unrelated pointers
  if (!x.empty() && !y.empty() && before(x.data(), y.data() + y.size()) &&
      before(y.data(), x.data() + x.size()))
    throw shape_error("x and y overlap in memory; multiply into another vector");
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
void prepared_matrix<V>::multiply(V alpha, const vector<V>& x, V beta, vector<V>& y, stream in) const {
  require_vectors_fit(rows_, cols_, x.size(), y.size());
  require_apart<V>({x.data(), x.size()}, {y.data(), y.size()});
  const auto is_here = [&](const vector<V>& v) { return v.size() == 0 || v.where() == on_; };
  if (!is_here(x) || !is_here(y))
    throw device_error("x and y must be on the device that the matrix is on: " + on_->description());
  run(alpha, x.data(), beta, y.data(), in);
}

template <class V>
double prepared_matrix<V>::apply(std::span<const V> x, const rows_epilogue<V>& epilogue) const {
  require_vectors_fit(rows_, cols_, x.size(), static_cast<std::size_t>(rows_));
  if (!on_->is_host())
    throw unsupported("fused steps need a kernel of the CPU; this matrix is on " + on_->description());
  return run_fused(x.data(), epilogue);
}

template <class V> std::uint64_t prepared_matrix<V>::traffic() const {
  const auto numbers = static_cast<std::uint64_t>(rows_) + static_cast<std::uint64_t>(cols_);
  return storage().bytes + numbers * sizeof(V);
}

template <class V> double prepared_matrix<V>::run_fused(const V* x, const rows_epilogue<V>& epilogue) const {
  constexpr index chunk = 1024;
  array<V> sums(static_cast<std::size_t>(rows_));
  run(V{1}, x, V{0}, sums.data(), {});
  double total = 0;
  for (index first = 0; first < rows_; first += chunk)
    total +=
        epilogue(first, std::span(sums).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(std::min(chunk, rows_ - first))));
  return total;
}

template class prepared_matrix<float>;
template class prepared_matrix<double>;

}  // namespace nz
