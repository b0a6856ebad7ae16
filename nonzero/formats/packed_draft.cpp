#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/packed_slice_internal.hpp>

// What a slice of a `packed` will hold: its runs, its quads, and how its rest is stored.
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

/// A slice has quads where these hold at least so much of its rest: fewer gain nothing.
constexpr double least_in_quads = 0.25;

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

/// How many quads each row of the rest has; none where that is not worth it.
template <class V>
std::vector<index> count_quads(csr_view<V> a, index first, index last, const packed_draft& of) {
  std::vector<index> quads(static_cast<std::size_t>(last - first));
  offset entries = 0, all = 0;
  for (const std::uint16_t local : of.rest) {
    const index row = first + local;
    entries += a.row_length(row);
    if (!has_rising_columns(a, row)) continue;
    for_each_quad_or_entry(a, row, [&](offset, bool is_quad) { quads[local] += is_quad; });
    all += quads[local];
  }
  const bool is_worth_it =
      static_cast<double>(packed<V>::quad_entries * all) >= least_in_quads * static_cast<double>(entries);
  if (all == 0 || !is_worth_it) quads.clear();
  return quads;
}

/// Orders the rest by length, and chooses how its columns and values are stored.
template <class V> void draft_rest(csr_view<V> a, index first, index last, packed_draft& out) {
  out.quads = count_quads(a, first, last, out);
  std::stable_sort(out.rest.begin(), out.rest.end(), [&](std::uint16_t i, std::uint16_t j) {
    return length_outside_quads(a, first, out, i) > length_outside_quads(a, first, out, j);
  });
  offset quads = 0;
  if (!out.quads.empty()) {
    for (const std::uint16_t local : out.rest)
      if (out.quads[local] > 0) out.quad_rows.push_back(local);
    std::sort(out.quad_rows.begin(), out.quad_rows.end(), [&](std::uint16_t i, std::uint16_t j) {
      return std::pair(-out.quads[i], i) < std::pair(-out.quads[j], j);
    });
    quads = std::accumulate(out.quads.begin(), out.quads.end(), offset{0});
  }
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
  out.sizes[in_quads] = static_cast<offset>(out.quad_rows.size());
  out.sizes[array_of(slice.columns)] += entries - (packed<V>::quad_entries - 1) * quads;
  offset& values = out.sizes[array_of(slice.values)];
  slice.value = std::exchange(values, values + (slice.values == packed_values::one ? 1 : entries));
}

}  // namespace

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last) {
  packed_draft out = run_finder<V>(a, first, last).find();
  out.sizes[in_runs] = static_cast<offset>(out.runs.size());
  draft_rest(a, first, last, out);
  return out;
}

#define NONZERO_INSTANTIATE(V) template packed_draft draft_slice(csr_view<V>, index, index);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
