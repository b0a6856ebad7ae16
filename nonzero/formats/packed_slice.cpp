#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <nonzero/formats/conversion_internal.hpp>
#include <nonzero/formats/packed_slice_internal.hpp>

namespace nz {
namespace {

constexpr index shortest_run = 16;            // a shorter run costs more than its rows in the rest
constexpr index most_exceptions_at_once = 4;  // consecutive rows with other columns inside a run

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

/// Looks for runs in the rows of one slice.
template <class V> class run_finder {
 public:
  run_finder(csr_view<V> a, index first, index last) : a_(a), first_(first), last_(last) {}

  packed_draft find() {
    for (index i = first_; i < last_;) {
      packed_run run = longest_run(i, true);
      if (run.rows < shortest_run) run = longest_run(i, false);
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
    if (width == 0 || width > std::numeric_limits<std::uint16_t>::max()) return {i, 0, 0, {}, 0, 0};
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
            0, 0};
  }

  void keep(packed_run& run) {
    for (const index exception : exceptions_)
      out_.rest.push_back(static_cast<std::uint16_t>(exception - first_));
    if (run.values != packed_values::one && has_single_values(run)) run.values = packed_values::single;
    offset &diagonals = out_.sizes[in_diagonal], &values = out_.sizes[array_of(run.values)];
    run.diagonal = std::exchange(diagonals, diagonals + run.width);
    run.value = std::exchange(values, values + run.stored_values());
    out_.runs.push_back(run);
  }

  bool has_single_values(const packed_run& run) const {
    if (!std::is_same_v<V, double>) return false;
    const V* begin = a_.val.data() + a_.row_begin[run.first_row];
    return std::all_of(begin, a_.val.data() + a_.row_begin[run.first_row + run.rows], is_exactly_single<V>);
  }

  csr_view<V> a_;
  const index first_, last_;
  std::vector<index> exceptions_;
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

template <class V>
void fill_run(csr_view<V> a, packed_run run, const packed_sizes& at, packed<V>& out, std::size_t place) {
  run.diagonal += at[in_diagonal];
  run.value += at[array_of(run.values)];
  out.runs[place] = run;
  const offset begin = a.row_begin[run.first_row];
  for (index k = 0; k < run.width; ++k) {
    out.diagonal[run.diagonal + k] = a.col[begin + k] - run.first_row;
    if (run.values == packed_values::one) out.constant[run.value + k] = a.val[begin + k];
  }
  if (run.values == packed_values::one) return;
  for (index i = 0; i < run.rows; ++i) {
    const offset row = a.row_begin[run.first_row + i], length = a.row_length(run.first_row + i);
    for (index k = 0; k < run.width; ++k)  // values of an exception are never used
      put_value(out, run.values, run.place_of(k, i), k < length ? a.val[row + k] : V{0});
  }
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
  for (std::size_t r = 0; r < draft.runs.size(); ++r)
    fill_run(a, draft.runs[r], at, out, static_cast<std::size_t>(s.run) + r);
  std::vector<offset> row_begin;
  for (const std::uint16_t local : draft.rest) {
    const offset place = s.rest + static_cast<offset>(row_begin.size());
    out.rest_row[place] = local;
    out.rest_length[place] = static_cast<index>(a.row_length(s.first_row + local));
    row_begin.push_back(a.row_begin[s.first_row + local]);
  }
  for_each_rest_place(out.rest_length.data() + s.rest, draft.sizes[in_rest], [&](offset place, index k) {
    const offset entry = row_begin[static_cast<std::size_t>(place)] + k;
    const index from_first = a.col[entry] - s.first_column;
    if (s.columns == packed_columns::near)
      out.near_column[s.column++] = static_cast<std::uint16_t>(from_first);
    else
      out.far_column[s.column++] = from_first;
    put_value(out, s.values, s.value, a.val[entry]);
    s.value += s.values != packed_values::one;
  });
}

#define NONZERO_INSTANTIATE(V)                                  \
  template packed_draft draft_slice(csr_view<V>, index, index); \
  template void fill_slice(csr_view<V>, const packed_draft&, const packed_sizes&, packed<V>&, std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
