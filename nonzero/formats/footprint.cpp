#include <limits>

#include <fmt/format.h>

#include <nonzero/formats/footprint.hpp>

namespace nz {

std::uint64_t saturating_bytes(std::uint64_t count, std::uint64_t size) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(count, size, &product) ? std::numeric_limits<std::uint64_t>::max() : product;
}

void require_within_budget(std::string_view format, footprint target, footprint csr, padding_budget budget) {
  const double allowed = budget.times_csr * static_cast<double>(csr.bytes);
  if (static_cast<double>(target.padding_bytes) <= allowed) return;
  throw unsupported(fmt::format(
      "{} would take {}, {} of it padding, against {} in csr: past the padding budget of {:g} times csr; "
      "choose another format or raise the budget",
      format, format_bytes(target.bytes), format_bytes(target.padding_bytes), format_bytes(csr.bytes),
      budget.times_csr));
}

}  // namespace nz
