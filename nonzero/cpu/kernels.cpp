#include <nonzero/cpu/kernels.hpp>
#include <nonzero/cpu/kernels_internal.hpp>

namespace nz {
namespace {

/// Refuses another device before anything is converted.
template <auto Prepare, class A, class V>
std::unique_ptr<prepared_matrix<V>> prepare_here(const csr<A>& a, const prepare_options& options) {
  device_for(device_kind::cpu, options, cpu_device);
  return Prepare.template operator()<A, V>(a, options);
}

/// A kernel in single, double and mixed precision.
template <auto Prepare>
constexpr kernel_row row(std::string_view name, std::string_view format, std::string_view summary) {
  return {name,
          format,
          device_kind::cpu,
          true,
          false,
          summary,
          prepare_here<Prepare, float, float>,
          prepare_here<Prepare, double, double>,
          prepare_here<Prepare, float, double>};
}

constexpr auto csr_balanced = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_csr_balanced<A, V>(a, options);
};

constexpr auto bsr_rows = []<class A, class V>(const auto& a, const auto& options) {
  return cpu::prepare_bsr_rows<A, V>(a, options);
};

constexpr kernel_row table[] = {
    row<csr_balanced>("csr_balanced", "csr", "equal shares of entries; short rows by loops for their length"),
    row<bsr_rows>("bsr_rows", "bsr", "equal shares of entries; a block's column of values at a time"),
};

}  // namespace

std::span<const kernel_row> cpu_kernels() { return table; }

}  // namespace nz
