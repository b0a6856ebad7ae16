#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include <nonzero/formats/packed_slice_internal.hpp>

// Writes the slices of a `packed`, as they were drafted.
namespace nz {
namespace {

template <class V> void put_value(packed<V>& out, packed_values kind, offset at, V value) {
  if (kind == packed_values::one)
    out.constant[at] = value;
  else if (kind == packed_values::single)
    out.single_value[at] = static_cast<float>(value);
  else
    out.full_value[at] = value;
}

/// Fills the columns and values of a slice's rest. for_each_column(body) and for_each_value(body) call
/// body(k) for the entries k whose columns and values are stored, in that order.
template <class V, class ForEachColumn, class ForEachValue>
void fill_rest(csr_view<V> a, const packed_slice& s, const ForEachColumn& for_each_column,
               const ForEachValue& for_each_value, packed<V>& out) {
  const auto fill_columns = [&](auto* to) {
    for_each_column([&](offset k) {
      *to++ = static_cast<std::remove_pointer_t<decltype(to)>>(a.col[k] - s.first_column);
    });
  };
  const auto fill_values = [&](auto* to) {
    for_each_value([&](offset k) { *to++ = static_cast<std::remove_pointer_t<decltype(to)>>(a.val[k]); });
  };
  if (s.columns == packed_columns::near)
    fill_columns(out.near_column.data() + s.column);
  else
    fill_columns(out.far_column.data() + s.column);
  if (s.values == packed_values::full)
    fill_values(out.full_value.data() + s.value);
  else if (s.values == packed_values::single)
    fill_values(out.single_value.data() + s.value);
}

/// Where some entries of some rows are, row by row.
struct entries_of_rows {
  std::vector<offset> begin, entry;
  /// body(entry) in the order in which a rest, or its quads, are stored. The rows have the given lengths.
  template <class Body> void for_each_stored(const index* length, const Body& body) const {
    for_each_rest_place(length, static_cast<offset>(begin.size()), [&](offset place, index k) {
      body(entry[static_cast<std::size_t>(begin[static_cast<std::size_t>(place)] + k)]);
    });
  }
};

/// Of those rows of a slice with quads: the first entries of their quads, or the entries outside them.
template <class V>
entries_of_rows find_entries(csr_view<V> a, index first, const packed_draft& draft,
                             const std::vector<std::uint16_t>& rows, bool of_quads) {
  entries_of_rows out;
  for (const std::uint16_t local : rows) {
    out.begin.push_back(static_cast<offset>(out.entry.size()));
    if (draft.quads[local] > 0)
      for_each_quad_or_entry(a, first + local, [&](offset k, bool is_quad) {
        if (is_quad == of_quads) out.entry.push_back(k);
      });
    else
      for (offset k = a.row_begin[first + local]; k < a.row_begin[first + local + 1]; ++k)
        out.entry.push_back(k);
  }
  return out;
}

/// The rest of a slice with quads.
template <class V>
void fill_rest_with_quads(csr_view<V> a, const packed_slice& s, const packed_draft& draft, packed<V>& out) {
  constexpr index quad_entries = packed<V>::quad_entries;
  const index *lengths = out.rest_length.data() + s.rest, *quads = out.quad_length.data() + s.quads;
  const auto singles = find_entries(a, s.first_row, draft, draft.rest, false);
  const auto firsts = find_entries(a, s.first_row, draft, draft.quad_rows, true);
  fill_rest(
      a, s,
      [&](const auto& body) {
        singles.for_each_stored(lengths, body);
        firsts.for_each_stored(quads, body);
      },
      [&](const auto& body) {
        singles.for_each_stored(lengths, body);
        firsts.for_each_stored(quads, [&](offset k) {
          for (index e = 0; e < quad_entries; ++e) body(k + e);
        });
      },
      out);
}

/// The values and masks of a run with holes.
template <class V>
void fill_run_with_holes(csr_view<V> a, const packed_run& run, std::span<const index> diagonals,
                         packed<V>& out) {
  std::copy(diagonals.begin(), diagonals.end(), out.diagonal.begin() + run.diagonal);
  std::fill_n(out.mask.begin() + run.mask, run.stored_masks(), std::uint16_t{0});
  if (run.values != packed_values::one)
    for (offset at = run.value; at < run.value + run.stored_values(); ++at)
      put_value(out, run.values, at, V{0});
  for (index i = 0; i < run.rows; ++i) {
    const packed_run::places place = run.places_of(i);
    std::uint16_t* const mask = out.mask.data() + run.mask_of(i);
    for_each_on_diagonals(a, run.first_row + i, diagonals, [&](index k, V value) {
      put_value(out, run.values, place[k], value);
      mask[k] |= static_cast<std::uint16_t>(1 << i % run.block_rows);
    });
  }
}

template <class V> void fill_run_without(csr_view<V> a, const packed_run& run, packed<V>& out) {
  const offset begin = a.row_begin[run.first_row];
  for (index k = 0; k < run.width; ++k) out.diagonal[run.diagonal + k] = a.col[begin + k] - run.first_row;
  const index rows = run.values == packed_values::one ? 1 : run.rows;
  for (index i = 0; i < rows; ++i) {
    const offset row = a.row_begin[run.first_row + i], length = a.row_length(run.first_row + i);
    const packed_run::places place = run.places_of(i);
    for (index k = 0; k < run.width; ++k)  // values of an exception are never used
      put_value(out, run.values, place[k], k < length ? a.val[row + k] : V{0});
  }
}

template <class V>
void fill_run(csr_view<V> a, packed_run run, const packed_sizes& at, std::span<const index> diagonals,
              packed<V>& out, std::size_t place) {
  run.diagonal += at[in_diagonal];
  run.value += at[array_of(run.values)];
  if (run.mask != run.none) run.mask += at[in_mask];
  out.runs[place] = run;
  if (run.mask != run.none)
    fill_run_with_holes(a, run, diagonals, out);
  else
    fill_run_without(a, run, out);
}

}  // namespace

template <class V>
void fill_slice(csr_view<V> a, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice) {
  packed_slice s = draft.slice;
  s.run += at[in_runs];
  s.rest += at[in_rest];
  s.quads += at[in_quads];
  s.column += at[array_of(s.columns)];
  s.value += at[array_of(s.values)];
  out.slices[slice] = s;
  std::span<const index> diagonals(draft.diagonals);
  for (std::size_t r = 0; r < draft.runs.size(); ++r) {
    const packed_run& run = draft.runs[r];
    const std::size_t own = run.mask == run.none ? 0 : static_cast<std::size_t>(run.width);
    fill_run(a, run, at, diagonals.first(own), out, static_cast<std::size_t>(s.run) + r);
    diagonals = diagonals.subspan(own);
  }
  std::vector<offset> row_begin;
  for (const std::uint16_t local : draft.rest) {
    const offset place = s.rest + static_cast<offset>(row_begin.size());
    out.rest_row[place] = local;
    out.rest_length[place] = length_outside_quads(a, s.first_row, draft, local);
    row_begin.push_back(a.row_begin[s.first_row + local]);
  }
  for (std::size_t q = 0; q < draft.quad_rows.size(); ++q) {
    const std::uint16_t local = draft.quad_rows[q];
    out.quad_row[s.quads + static_cast<offset>(q)] = local;
    out.quad_length[s.quads + static_cast<offset>(q)] = draft.quads[local];
  }
  if (s.values == packed_values::one) {
    const auto has_entries = [&](std::uint16_t local) { return a.row_length(s.first_row + local) > 0; };
    const std::uint16_t local = *std::find_if(draft.rest.begin(), draft.rest.end(), has_entries);
    out.constant[s.value] = a.val[a.row_begin[s.first_row + local]];
  }
  if (!draft.quads.empty()) return fill_rest_with_quads(a, s, draft, out);
  const auto for_each = [&](const auto& body) {
    for_each_rest_place(out.rest_length.data() + s.rest, draft.sizes[in_rest],
                        [&, begin = row_begin.data()](offset row, index k) { body(begin[row] + k); });
  };
  fill_rest(a, s, for_each, for_each, out);
}

#define NONZERO_INSTANTIATE(V) \
  template void fill_slice(csr_view<V>, const packed_draft&, const packed_sizes&, packed<V>&, std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
