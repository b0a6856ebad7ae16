#include <algorithm>

#include <fmt/format.h>

#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/formats/packed.hpp>
#include <nonzero/formats/packed_slice_internal.hpp>

namespace nz {
namespace {

constexpr index default_slice_rows = 1024;

std::vector<index> equal_slices(index rows) {
  std::vector<index> first_row;
  for (offset row = 0; row < rows; row += default_slice_rows) first_row.push_back(static_cast<index>(row));
  first_row.push_back(rows);
  return first_row;
}

template <class V> void make_room(packed<V>& out, const packed_sizes& all) {
  out.runs.resize(static_cast<std::size_t>(all.runs));
  out.rest_row.resize(static_cast<std::size_t>(all.rest));
  out.rest_length.resize(static_cast<std::size_t>(all.rest));
  out.diagonal.resize(static_cast<std::size_t>(all.diagonals));
  out.constant.resize(static_cast<std::size_t>(all.constants));
  out.near_column.resize(static_cast<std::size_t>(all.nears));
  out.far_column.resize(static_cast<std::size_t>(all.fars));
  out.single_value.resize(static_cast<std::size_t>(all.singles));
  out.full_value.resize(static_cast<std::size_t>(all.fulls));
}

template <class V> std::uint64_t bytes_for(std::size_t slices, const packed_sizes& all) {
  const auto bytes = [](offset count, std::size_t size) { return static_cast<std::uint64_t>(count) * size; };
  return (slices + 1) * sizeof(packed_slice) + bytes(all.runs, sizeof(packed_run)) + bytes(all.rest, 6) +
         bytes(all.diagonals + all.fars + all.singles, 4) + bytes(all.nears, 2) +
         bytes(all.constants + all.fulls, sizeof(V));
}

}  // namespace

void run_in_order(offset count, const std::function<void(offset)>& body) {
  for (offset i = 0; i < count; ++i) body(i);
}

template <class V>
packed<V> to_packed(const csr<V>& a, std::span<const index> first_row, const for_each_runner& for_each) {
  const std::size_t slices = first_row.size() - 1;
  std::vector<packed_draft> drafts(slices);
  for_each(static_cast<offset>(slices), [&](offset s) {
    drafts[static_cast<std::size_t>(s)] =
        draft_slice(a, first_row[static_cast<std::size_t>(s)], first_row[static_cast<std::size_t>(s) + 1]);
  });
  std::vector<packed_sizes> at(slices + 1);
  for (std::size_t s = 0; s < slices; ++s) (at[s + 1] = at[s]) += drafts[s].sizes;
  packed<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.slices.resize(slices + 1);
  make_room(out, at.back());
  for_each(static_cast<offset>(slices), [&](offset s) {
    const auto slice = static_cast<std::size_t>(s);
    fill_slice(a, first_row[slice], drafts[slice], at[slice], out, slice);
  });
  out.slices.back() = {a.rows, 0, {}, {}, at.back().runs, at.back().rest, 0, 0};
  return out;
}

template <class V> packed<V> to_packed(const csr<V>& a) {
  return to_packed(a, equal_slices(a.rows), run_in_order);
}

template <class V> csr<V> to_csr(const packed<V>& a) {
  csr<V> out{a.rows, a.cols, array<offset>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {}};
  for_each_entry(a, [&](index row, index, V) { ++out.row_begin[row + 1]; });
  for (index i = 0; i < a.rows; ++i) out.row_begin[i + 1] += out.row_begin[i];
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  array<offset> next(out.row_begin.begin(), out.row_begin.end() - 1);
  for_each_entry(a, [&](index row, index col, V val) {
    const offset k = next[row]++;
    out.col[k] = col;
    out.val[k] = val;
  });
  return out;
}

template <class V> footprint footprint_of(const packed<V>& a) {
  packed_sizes all;
  all.runs = static_cast<offset>(a.runs.size());
  all.rest = static_cast<offset>(a.rest_row.size());
  all.diagonals = static_cast<offset>(a.diagonal.size());
  all.constants = static_cast<offset>(a.constant.size());
  all.nears = static_cast<offset>(a.near_column.size());
  all.fars = static_cast<offset>(a.far_column.size());
  all.singles = static_cast<offset>(a.single_value.size());
  all.fulls = static_cast<offset>(a.full_value.size());
  return {bytes_for<V>(a.slices.size() - 1, all), 0};
}

template <class V> footprint packed_footprint(const csr<V>& a) {
  const std::vector<index> first_row = equal_slices(a.rows);
  packed_sizes all;
  for (std::size_t s = 0; s + 1 < first_row.size(); ++s)
    all += draft_slice(a, first_row[s], first_row[s + 1]).sizes;
  return {bytes_for<V>(first_row.size() - 1, all), 0};
}

template packed<float> to_packed(const csr<float>&, std::span<const index>, const for_each_runner&);
template packed<double> to_packed(const csr<double>&, std::span<const index>, const for_each_runner&);
template packed<float> to_packed(const csr<float>&);
template packed<double> to_packed(const csr<double>&);
template csr<float> to_csr(const packed<float>&);
template csr<double> to_csr(const packed<double>&);
template footprint footprint_of(const packed<float>&);
template footprint footprint_of(const packed<double>&);
template footprint packed_footprint(const csr<float>&);
template footprint packed_footprint(const csr<double>&);

}  // namespace nz
