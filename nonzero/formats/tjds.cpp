#include <algorithm>

#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/jds.hpp>
#include <nonzero/formats/tjds.hpp>

namespace nz {

template <class V> void validate(const tjds<V>& a) {
  constexpr invariants check{"tjds"};
  check.sizes(a.rows, a.cols);
  check.length("row", a.row.size(), a.rows);
  check.permutation("row", a.row);
  check.begins("diagonal_begin", a.diagonal_begin, static_cast<offset>(a.col.size()));
  const auto places = [&](offset k) { return a.diagonal_begin[k + 1] - a.diagonal_begin[k]; };
  for (offset k = 0, most = a.rows; k < a.width(); most = places(k++))
    check.that(places(k) >= 1 && places(k) <= most,
               "diagonal {} (counted from 1) is {} long, outside 1 to {}", k + 1, places(k), most);
  // Of the row at a place: how many diagonals reach the place. They are the first ones.
  offset length = a.width();
  check.sorted_by_length(a.row, 0, a.rows, [&](index p) {
    while (length > 0 && places(length - 1) <= p) --length;
    return length;
  });
  check.within("col", a.col, a.cols);
  check.length("val", a.val.size(), a.nnz());
}

template <class V> footprint footprint_of(const tjds<V>& a) {
  return {bytes_of(a.row, a.diagonal_begin, a.col, a.val), 0};
}

template <class V> footprint tjds_footprint(csr_view<V> a) {
  a = validated(a);
  return {a.rows * sizeof(index) + (longest_row(a) + 1) * sizeof(offset) +
              a.row_begin.back() * (sizeof(index) + sizeof(V)),
          0};
}

template <class V> tjds<V> to_tjds(csr_view<V> a) {
  a = validated(a);
  tjds<V> out{a.rows,
              a.cols,
              rows_by_falling_length(a),
              array<offset>(longest_row(a) + 1, 0),
              array<index>(a.col.size()),
              array<V>(a.val.size())};
  // Diagonal k has the places whose rows are longer than k, which are the first ones.
  index places = a.rows;
  for (offset k = 0; k < out.width(); ++k) {
    while (places > 0 && a.row_length(out.row[places - 1]) <= k) --places;
    out.diagonal_begin[k + 1] = out.diagonal_begin[k] + places;
  }
  // Place by place, so that each row is read once, from its begin to its end.
  for (index p = 0; p < a.rows; ++p) {
    const offset begin = a.row_begin[out.row[p]], length = a.row_length(out.row[p]);
    for (offset k = 0; k < length; ++k) {
      out.col[out.diagonal_begin[k] + p] = a.col[begin + k];
      out.val[out.diagonal_begin[k] + p] = a.val[begin + k];
    }
  }
  return out;
}

#define NONZERO_INSTANTIATE(V)                     \
  template void validate(const tjds<V>&);          \
  template footprint footprint_of(const tjds<V>&); \
  template footprint tjds_footprint(csr_view<V>);  \
  template tjds<V> to_tjds(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
