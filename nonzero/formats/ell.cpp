#include <algorithm>

#include <nonzero/formats/ell.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

template <class V> void validate(const ell<V>& a) {
  constexpr invariants check{"ell"};
  check.sizes(a.rows, a.cols);
  check.that(a.width >= 0, "a width of {} is negative", a.width);
  offset places = 0;
  check.that(!__builtin_mul_overflow(offset{a.rows}, a.width, &places),
             "{} rows of width {} pass 2^63 places", a.rows, a.width);
  check.length("col", a.col.size(), places);
  check.length("val", a.val.size(), places);
  check.places(a.col, a.val, a.cols);
  for (offset at = a.rows; at < places; ++at)
    if (a.col[at] != padding_column && a.col[at - a.rows] == padding_column)
      check.fail(fmt::format("row {} (counted from 1) has an entry after its padding", at % a.rows + 1));
}

template <class V> footprint footprint_of(const ell<V>& a) {
  const auto padding = static_cast<std::uint64_t>(std::count(a.col.begin(), a.col.end(), padding_column));
  return {bytes_of(a.col, a.val), padding * (sizeof(index) + sizeof(V))};
}

template <class V> footprint ell_footprint_of_width(csr_view<V> a, offset width) {
  a = validated(a);
  const std::uint64_t places = saturating_bytes(a.rows, width);
  std::uint64_t entries = 0;
  for (index i = 0; i < a.rows; ++i) entries += std::min(a.row_length(i), width);
  constexpr std::uint64_t size = sizeof(index) + sizeof(V);
  return {saturating_bytes(places, size), saturating_bytes(places - entries, size)};
}

template <class V> footprint ell_footprint(csr_view<V> a) {
  a = validated(a);
  return ell_footprint_of_width(a, longest_row(a));
}

template <class V> ell<V> to_ell_of_width(csr_view<V> a, offset width) {
  a = validated(a);
  if (width < 0) throw shape_error(fmt::format("ell: a width of {} is negative", width));
  const auto places = static_cast<std::size_t>(saturating_bytes(a.rows, width));  // no memory holds 2^64-1
  ell<V> out{a.rows, a.cols, width, array<index>(places, padding_column), array<V>(places, V{0})};
  for (index i = 0; i < a.rows; ++i) {
    const offset length = std::min(a.row_length(i), width);
    for (offset k = 0; k < length; ++k) {
      out.col[k * a.rows + i] = a.col[a.row_begin[i] + k];
      out.val[k * a.rows + i] = a.val[a.row_begin[i] + k];
    }
  }
  return out;
}

template <class V> ell<V> to_ell(csr_view<V> a, padding_budget budget) {
  a = validated(a);
  require_within_budget("ell", ell_footprint(a), footprint_of(a), budget);
  return to_ell_of_width(a, longest_row(a));
}

#define NONZERO_INSTANTIATE(V)                                    \
  template void validate(const ell<V>&);                          \
  template footprint footprint_of(const ell<V>&);                 \
  template footprint ell_footprint(csr_view<V>);                  \
  template footprint ell_footprint_of_width(csr_view<V>, offset); \
  template ell<V> to_ell(csr_view<V>, padding_budget);            \
  template ell<V> to_ell_of_width(csr_view<V>, offset);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
