#include <algorithm>

#include <nonzero/formats/hyb.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

template <class V> offset default_hyb_width(csr_view<V> a) {
  a = validated(a);
  if (a.rows == 0) return 0;
  array<offset> length(a.rows);
  for (index i = 0; i < a.rows; ++i) length[i] = a.row_length(i);
  // In falling order, `needed` rows have at least as many entries as the needed-th of them.
  const index needed = std::max(1, a.rows / 3 + (a.rows % 3 != 0));
  std::nth_element(length.begin(), length.begin() + (needed - 1), length.end(), std::greater<>());
  return length[needed - 1];
}

template <class V> void validate(const hyb<V>& a) {
  constexpr invariants check{"hyb"};
  validate(a.regular);
  validate(a.rest);
  check.that(a.rest.rows == a.regular.rows && a.rest.cols == a.regular.cols,
             "regular is {} x {} but rest {} x {}", a.regular.rows, a.regular.cols, a.rest.rows, a.rest.cols);
  if (a.regular.width == 0) return;
  const index* last_col = a.regular.col.data() + (a.regular.width - 1) * a.rows();
  for (const index i : a.rest.row)
    check.that(last_col[i] != padding_column,
               "row {} (counted from 1) has entries in rest but padding in regular", i + 1);
}

template <class V> footprint footprint_of(const hyb<V>& a) {
  const footprint regular = footprint_of(a.regular);
  return {regular.bytes + footprint_of(a.rest).bytes, regular.padding_bytes};
}

template <class V> footprint hyb_footprint(csr_view<V> a, offset width) {
  a = validated(a);
  if (width < 0) width = default_hyb_width(a);
  footprint out = ell_footprint_of_width(a, width);
  std::uint64_t rest = 0;
  for (index i = 0; i < a.rows; ++i) rest += std::max<offset>(a.row_length(i) - width, 0);
  if (__builtin_add_overflow(out.bytes, rest * (2 * sizeof(index) + sizeof(V)), &out.bytes))
    out.bytes = static_cast<std::uint64_t>(-1);
  return out;
}

template <class V> hyb<V> to_hyb(csr_view<V> a, offset width, padding_budget budget) {
  a = validated(a);
  if (width < 0) width = default_hyb_width(a);
  require_within_budget("hyb", hyb_footprint(a, width), footprint_of(a), budget);
  hyb<V> out{to_ell_of_width(a, width), {a.rows, a.cols, {}, {}, {}}};
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i] + std::min(width, a.row_length(i)); k < a.row_begin[i + 1]; ++k) {
      out.rest.row.push_back(i);
      out.rest.col.push_back(a.col[k]);
      out.rest.val.push_back(a.val[k]);
    }
  return out;
}

#define NONZERO_INSTANTIATE(V)                           \
  template offset default_hyb_width(csr_view<V>);        \
  template void validate(const hyb<V>&);                 \
  template footprint footprint_of(const hyb<V>&);        \
  template footprint hyb_footprint(csr_view<V>, offset); \
  template hyb<V> to_hyb(csr_view<V>, offset, padding_budget);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
