#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/packed_slice_internal.hpp>

namespace nz {
namespace {

constexpr index shortest_run = 16;            // a shorter run costs more than its rows in the rest
constexpr index most_exceptions_at_once = 4;  // consecutive rows with other columns inside a run
/// A run has holes where they are at most a fifth, and where it is so many times as long as without them.
constexpr double least_fill = 0.8;
constexpr index least_gain_of_holes = 2;
/// Runs with holes are looked for in slices where, of so many pairs of rows, half have most diagonals in
/// common. The rows of a pair are seven apart: mesh nodes of two to six unknowns repeat their diagonals after
/// fewer rows.
constexpr index pairs = 8, apart_in_pair = 7;

/// Whether two rows have the same columns, counted from the row.
template <class V> bool have_same_columns(csr_view<V> a, index i, index j) {
  const offset width = a.row_length(i);
  if (a.row_length(j) != width) return false;
  const index *left = a.col.data() + a.row_begin[i], *right = a.col.data() + a.row_begin[j];
  const index apart = j - i;
  for (offset k = 0; k < width; ++k)
    if (right[k] - left[k] != apart) return false;
  return true;
}

template <class V> bool have_same_values(csr_view<V> a, index i, index j) {
  return std::memcmp(a.val.data() + a.row_begin[i], a.val.data() + a.row_begin[j],
                     static_cast<std::size_t>(a.row_length(i)) * sizeof(V)) == 0;
}

/// Whether a row has entries, whose columns rise.
template <class V> bool has_rising_columns(csr_view<V> a, index i) {
  for (offset k = a.row_begin[i] + 1; k < a.row_begin[i + 1]; ++k)
    if (a.col[k - 1] >= a.col[k]) return false;
  return a.row_length(i) > 0;
}

/// Whether row i has other diagonals than some; `all` are then both. They rise, and so do the row's columns.
template <class V>
bool has_more_diagonals(csr_view<V> a, index i, const std::vector<index>& some, std::vector<index>& all) {
  const index *col = a.col.data() + a.row_begin[i], *end = a.col.data() + a.row_begin[i + 1];
  const auto is_there = [&, at = some.begin()](index c) mutable {
    while (at < some.end() && *at < c - i) ++at;
    return at < some.end() && *at == c - i;
  };
  if (std::all_of(col, end, is_there)) return false;
  all.clear();
  auto old = some.begin();
  for (; col < end; ++col) {
    for (; old < some.end() && *old < *col - i; ++old) all.push_back(*old);
    if (old < some.end() && *old == *col - i) ++old;
    all.push_back(*col - i);
  }
  all.insert(all.end(), old, some.end());
  return true;
}

/// Whether rows i < j, alone, would have few enough holes.
template <class V> bool could_share_diagonals(csr_view<V> a, index i, index j) {
  if (!has_rising_columns(a, i) || !has_rising_columns(a, j)) return false;
  const offset entries = a.row_length(i) + a.row_length(j);
  offset common = 0, other = a.row_begin[j];
  for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
    while (other < a.row_begin[j + 1] && a.col[other] - j < a.col[k] - i) ++other;
    common += other < a.row_begin[j + 1] && a.col[other] - j == a.col[k] - i;
  }
  return static_cast<double>(entries) >= least_fill * 2 * static_cast<double>(entries - common);
}

/// body(k, value) for the entries of row i, on diagonal k of those that rise and hold all of the row's.
template <class V, class Body>
void for_each_on_diagonals(csr_view<V> a, index i, std::span<const index> diagonals, const Body& body) {
  std::size_t k = 0;
  for (offset entry = a.row_begin[i]; entry < a.row_begin[i + 1]; ++entry, ++k) {
    while (diagonals[k] < a.col[entry] - i) ++k;
    body(static_cast<index>(k), a.val[entry]);
  }
}

/// Looks for runs in the rows of one slice.
template <class V> class run_finder {
 public:
  run_finder(csr_view<V> a, index first, index last) : a_(a), first_(first), last_(last) {}

  packed_draft find() {
    for (index i = first_; i < last_;) {
      packed_run run = longest_run(i, true);
      if (run.rows < shortest_run) {
        run = longest_run(i, false);
        const packed_run with_holes = longest_run_with_holes(i);
        if (with_holes.rows >= shortest_run && with_holes.rows >= least_gain_of_holes * run.rows) {
          exceptions_.clear();
          run = with_holes;
        }
      }
      if (run.rows < shortest_run) {
        // All rows up to the first exception have the same columns: none of them starts a longer run.
        const index end = exceptions_.empty() ? i + std::max(run.rows, 1) : exceptions_.front();
        for (; i < end; ++i) out_.rest.push_back(static_cast<std::uint16_t>(i - first_));
        continue;
      }
      keep(run);
      i += run.rows;
    }
    return std::move(out_);
  }

 private:
  bool fits(index i, index j, bool with_values) const {
    return have_same_columns(a_, i, j) && (!with_values || have_same_values(a_, i, j));
  }

  /// From row i on; remembers its exceptions: few, and never the last row, so that the run's columns are
  /// inside the matrix for all of its rows.
  packed_run longest_run(index i, bool with_values) {
    exceptions_.clear();
    const auto width = a_.row_length(i);
    if (width == 0 || width > std::numeric_limits<std::uint16_t>::max())
      return {i, 0, 0, {}, 0, 0, packed_run::none};
    index end = i + 1;  // behind the last row that fits
    std::size_t exceptions = 0;
    for (index j = i + 1; j < last_ && j - end <= most_exceptions_at_once; ++j) {
      if (!fits(i, j, with_values)) {
        exceptions_.push_back(j);
        if (8 * exceptions_.size() > static_cast<std::size_t>(j - i)) break;
        continue;
      }
      end = j + 1;
      exceptions = exceptions_.size();
    }
    exceptions_.resize(exceptions);
    return {i, end - i, static_cast<index>(width), with_values ? packed_values::one : packed_values::full,
            0, 0,       packed_run::none};
  }

  /// From row i on; `diagonals_` are then its. A row is looked at twice at most: those that a search has been
  /// through start no other.
  packed_run longest_run_with_holes(index i) {
    packed_run run{i, 0, 0, packed_values::full, 0, 0, 0};
    if (last_ - i < shortest_run) return run;
    if (!could_have_holes_) could_have_holes_ = could_have_holes();
    if (!*could_have_holes_ || i < searched_) return run;
    diagonals_.clear();
    double entries = 0;
    index j = i;
    for (; j < last_ && has_rising_columns(a_, j); ++j) {
      const bool has_more = has_more_diagonals(a_, j, diagonals_, more_diagonals_);
      const std::vector<index>& all = has_more ? more_diagonals_ : diagonals_;
      entries += a_.row_length(j);
      const bool is_full = entries >= least_fill * (j + 1 - i) * static_cast<double>(all.size());
      if (!is_full || all.size() > std::numeric_limits<std::uint16_t>::max() ||
          // Outside the matrix in some row.
          i + offset{all.front()} < 0 || j + offset{all.back()} >= a_.cols)
        break;
      if (has_more) std::swap(diagonals_, more_diagonals_);
    }
    searched_ = j;
    run.rows = j - i;
    run.width = static_cast<index>(diagonals_.size());
    return run;
  }

  bool could_have_holes() const {
    index found = 0;
    for (index p = 0; p < pairs; ++p) {
      const index i = first_ + static_cast<index>(offset{last_ - apart_in_pair - first_} * p / pairs);
      found += could_share_diagonals(a_, i, i + apart_in_pair);
    }
    return 2 * found >= pairs;
  }

  void keep(packed_run& run) {
    for (const index exception : exceptions_)
      out_.rest.push_back(static_cast<std::uint16_t>(exception - first_));
    if (run.mask != run.none && have_same_values_in_columns(run)) run.values = packed_values::one;
    if (run.values != packed_values::one && has_single_values(run)) run.values = packed_values::single;
    offset &diagonals = out_.sizes[in_diagonal], &values = out_.sizes[array_of(run.values)];
    run.diagonal = std::exchange(diagonals, diagonals + run.width);
    run.value = std::exchange(values, values + run.stored_values());
    if (run.mask != run.none) {
      run.mask = std::exchange(out_.sizes[in_mask], out_.sizes[in_mask] + run.stored_masks());
      out_.diagonals.insert(out_.diagonals.end(), diagonals_.begin(), diagonals_.end());
    }
    out_.runs.push_back(run);
  }

  /// Whether all values on each of `diagonals_` have the same bits.
  bool have_same_values_in_columns(const packed_run& run) const {
    std::vector<const V*> first(diagonals_.size());
    bool are_same = true;
    for (index i = run.first_row; are_same && i < run.first_row + run.rows; ++i)
      for_each_on_diagonals<V>(a_, i, diagonals_, [&](index k, const V& value) {
        if (first[k] == nullptr) first[k] = &value;
        are_same = are_same && have_same_bits(*first[k], value);
      });
    return are_same;
  }

  bool has_single_values(const packed_run& run) const {
    if (!std::is_same_v<V, double>) return false;
    const V* begin = a_.val.data() + a_.row_begin[run.first_row];
    return std::all_of(begin, a_.val.data() + a_.row_begin[run.first_row + run.rows], is_exactly_single<V>);
  }

  csr_view<V> a_;
  const index first_, last_;
  std::vector<index> exceptions_;
  std::vector<index> diagonals_, more_diagonals_;  // they rise
  std::optional<bool> could_have_holes_;           // unless none were looked for yet
  index searched_ = 0;                             // rows before it start no run with holes
  packed_draft out_;
};

/// Orders the rest by length, and chooses how its columns and values are stored.
template <class V> void draft_rest(csr_view<V> a, index first, packed_draft& out) {
  std::stable_sort(out.rest.begin(), out.rest.end(), [&](std::uint16_t i, std::uint16_t j) {
    return a.row_length(first + i) > a.row_length(first + j);
  });
  index low = std::numeric_limits<index>::max(), high = 0;
  offset entries = 0;
  const V* one = nullptr;
  bool is_one = true, are_single = std::is_same_v<V, double>;
  for (const std::uint16_t local : out.rest)
    for (offset k = a.row_begin[first + local]; k < a.row_begin[first + local + 1]; ++k, ++entries) {
      low = std::min(low, a.col[k]);
      high = std::max(high, a.col[k]);
      if (one == nullptr) one = &a.val[k];
      is_one = is_one && have_same_bits(*one, a.val[k]);
      are_single = are_single && is_exactly_single(a.val[k]);
    }
  packed_slice& slice = out.slice;
  slice.first_row = first;
  slice.first_column = entries > 0 ? low : 0;
  slice.columns = high - slice.first_column <= std::numeric_limits<std::uint16_t>::max()
                      ? packed_columns::near
                      : packed_columns::far;
  // A kernel reads the one value before it knows whether there are entries.
  slice.values = entries == 0 ? packed_values::full
                 : is_one     ? packed_values::one
                 : are_single ? packed_values::single
                              : packed_values::full;
  out.sizes[in_rest] = static_cast<offset>(out.rest.size());
  out.sizes[array_of(slice.columns)] += entries;
  offset& values = out.sizes[array_of(slice.values)];
  slice.value = std::exchange(values, values + (slice.values == packed_values::one ? 1 : entries));
}

template <class V> void put_value(packed<V>& out, packed_values kind, offset at, V value) {
  if (kind == packed_values::one)
    out.constant[at] = value;
  else if (kind == packed_values::single)
    out.single_value[at] = static_cast<float>(value);
  else
    out.full_value[at] = value;
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

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last) {
  packed_draft out = run_finder<V>(a, first, last).find();
  out.sizes[in_runs] = static_cast<offset>(out.runs.size());
  draft_rest(a, first, out);
  return out;
}

template <class V>
void fill_slice(csr_view<V> a, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice) {
  packed_slice s = draft.slice;
  s.run += at[in_runs];
  s.rest += at[in_rest];
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
    out.rest_length[place] = static_cast<index>(a.row_length(s.first_row + local));
    row_begin.push_back(a.row_begin[s.first_row + local]);
  }
  // Column by column, or value by value, into the array of their kind.
  const auto fill_from = [&](const auto& from, auto* to, const auto& as) {
    for_each_rest_place(
        out.rest_length.data() + s.rest, draft.sizes[in_rest],
        [&, begin = row_begin.data()](offset place, index k) { *to++ = as(from[begin[place] + k]); });
  };
  const auto from_first = [first = s.first_column](index j) { return j - first; };
  if (s.columns == packed_columns::near)
    fill_from(a.col, out.near_column.data() + s.column,
              [&](index j) { return static_cast<std::uint16_t>(from_first(j)); });
  else
    fill_from(a.col, out.far_column.data() + s.column, from_first);
  if (s.values == packed_values::full)
    fill_from(a.val, out.full_value.data() + s.value, [](V value) { return value; });
  else if (s.values == packed_values::single)
    fill_from(a.val, out.single_value.data() + s.value, [](V value) { return static_cast<float>(value); });
  else
    out.constant[s.value] = a.val[row_begin.front()];
}

#define NONZERO_INSTANTIATE(V)                                  \
  template packed_draft draft_slice(csr_view<V>, index, index); \
  template void fill_slice(csr_view<V>, const packed_draft&, const packed_sizes&, packed<V>&, std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
