#pragma once

#include <memory>
#include <string>

#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>

namespace nz {

template <class V> struct named_product {
  std::string kernel;
  std::unique_ptr<prepared_matrix<V>> prepared;
};

/// The matrix prepared for the peer (another library's kernel) that multiplies it fastest on its device, or
/// for the kernel of the given name. Throws `unsupported` where that device has none.
template <class V>
named_product<V> prepare_fastest_peer(const std::shared_ptr<const device_csr<V>>& a,
                                      const std::string& kernel) {
  const auto& on = a->where();
  if (!kernel.empty()) return {kernel, find_kernel(kernel, on->kind()).prepare(a)};
  const vector<V> x(on, std::vector<V>(static_cast<std::size_t>(a->cols), V{1}));
  vector<V> y(on, static_cast<std::size_t>(a->rows));
  named_product<V> best;
  double best_seconds = 0;
  for (const kernel_row& row : kernels()) {
    if (row.runs_on != on->kind() || !row.is_peer) continue;
    try {
      auto prepared = row.prepare(a);
      const double seconds =
          measure(*on, [&](stream in) { prepared->multiply(V{1}, x, V{0}, y, in); }, {.budget_seconds = 0.05})
              .seconds;
      if (best.prepared == nullptr || seconds < best_seconds) {
        best = {std::string(row.name), std::move(prepared)};
        best_seconds = seconds;
      }
    } catch (const unsupported&) {  // not for this matrix, or the library is missing
    }
  }
  if (best.prepared == nullptr)
    throw unsupported("there is no other library's product on " + on->description());
  return best;
}

}  // namespace nz
