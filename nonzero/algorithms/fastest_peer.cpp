#include <nonzero/algorithms/fastest_peer_internal.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/plan/measure.hpp>

namespace nz {

template <class V>
named_product<V> prepare_fastest_peer(csr_view<V> a, const std::shared_ptr<device>& on,
                                      const std::string& kernel) {
  const auto placed = place_csr(a, on);
  if (!kernel.empty()) return {kernel, find_kernel(kernel, on->kind()).prepare(placed)};
  const vector<V> x(on, std::vector<V>(static_cast<std::size_t>(a.cols), V{1}));
  vector<V> y(on, static_cast<std::size_t>(a.rows));
  named_product<V> best;
  double best_seconds = 0;
  for (const kernel_row& row : kernels()) {
    if (row.runs_on != on->kind() || !row.is_peer) continue;
    try {
      auto prepared = row.prepare(placed);
      const double seconds =
          measure(*on, [&](stream in) { prepared->multiply(V{1}, x, V{0}, y, in); }, {.budget_seconds = 0.05})
              .seconds;
      if (best.prepared == nullptr || seconds < best_seconds) {
        best = {std::string(row.name), std::move(prepared)};
        best_seconds = seconds;
      }
    } catch (const unsupported&) {  // not for this matrix, or not there
    }
  }
  if (best.prepared == nullptr)
    throw unsupported("there is no other library's product on " + on->description());
  return best;
}

template named_product<float> prepare_fastest_peer(csr_view<float>, const std::shared_ptr<device>&,
                                                   const std::string&);
template named_product<double> prepare_fastest_peer(csr_view<double>, const std::shared_ptr<device>&,
                                                    const std::string&);

}  // namespace nz
