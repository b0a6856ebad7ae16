#include <algorithm>

#include <nonzero/formats/csr.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

template <class V> csr<V> copy_of(csr_view<V> a) {
  a = validated(a);
  return {a.rows,
          a.cols,
          {a.row_begin.begin(), a.row_begin.end()},
          {a.col.begin(), a.col.end()},
          {a.val.begin(), a.val.end()}};
}

template <class V, class Offset> void validate(csr_view<V, Offset> a) {
  constexpr invariants check{"csr"};
  check.sizes(a.rows, a.cols);
  check.length("row_begin", a.row_begin.size(), offset{a.rows} + 1);
  check.somewhere("row_begin", a.row_begin);
  check.begins("row_begin", a.row_begin, a.nnz());
  check.length("val", a.val.size(), a.nnz());
  check.somewhere("val", a.val);
  check.somewhere("col", a.col);
  if (const offset at = invariants::find_outside(a.col, a.cols); at < a.nnz()) {
    const auto behind = std::upper_bound(a.row_begin.begin(), a.row_begin.end(), at);
    check.fail(fmt::format("col is {} at position {}, in row {} (both counted from 1), {}", a.col[at], at + 1,
                           behind - a.row_begin.begin(), invariants::outside(a.cols)));
  }
}

template <class V> offset longest_row(csr_view<V> a) {
  a = validated(a);
  offset longest = 0;
  for (index i = 0; i < a.rows; ++i) longest = std::max(longest, a.row_length(i));
  return longest;
}

template <class V> csr<V> transpose(csr_view<V> a) {
  a = validated(a);
  csr<V> t{a.cols, a.rows, array<offset>(static_cast<std::size_t>(a.cols) + 1, 0), array<index>(a.col.size()),
           array<V>(a.val.size())};
  // Counted one place late: filling moves each begin to its right place.
  for (const index j : a.col)
    if (j + 1 < a.cols) ++t.row_begin[j + 2];
  for (offset j = 2; j <= a.cols; ++j) t.row_begin[j] += t.row_begin[j - 1];
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
      const offset to = t.row_begin[a.col[k] + 1]++;
      t.col[to] = i;
      t.val[to] = a.val[k];
    }
  return t;
}

#define NONZERO_INSTANTIATE(V)                       \
  template csr<V> copy_of(csr_view<V>);              \
  template void validate(csr_view<V>);               \
  template void validate(csr_view<V, std::int32_t>); \
  template offset longest_row(csr_view<V>);          \
  template csr<V> transpose(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
