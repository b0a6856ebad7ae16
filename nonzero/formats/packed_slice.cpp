#include <algorithm>
#include <cstring>
#include <limits>

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
    packed_sizes& sizes = out_.sizes;
    run.diagonal = sizes.diagonals;
    sizes.diagonals += run.width;
    if (run.values != packed_values::one && has_single_values(run)) run.values = packed_values::single;
    offset& used = run.values == packed_values::one      ? sizes.constants
                   : run.values == packed_values::single ? sizes.singles
                                                         : sizes.fulls;
    run.value = used;
    used += run.values == packed_values::one ? run.width : offset{run.width} * run.rows;
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
  out.first_column = entries > 0 ? low : 0;
  out.columns = high - out.first_column <= std::numeric_limits<std::uint16_t>::max() ? packed_columns::near
                                                                                     : packed_columns::far;
  // A kernel reads the one value before it knows whether there are entries.
  out.values = entries == 0 ? packed_values::full
               : is_one     ? packed_values::one
               : are_single ? packed_values::single
                            : packed_values::full;
  out.sizes.rest = static_cast<offset>(out.rest.size());
  (out.columns == packed_columns::near ? out.sizes.nears : out.sizes.fars) += entries;
  if (out.values == packed_values::one)
    ++out.sizes.constants;
  else
    (out.values == packed_values::single ? out.sizes.singles : out.sizes.fulls) += entries;
}

template <class V>
void fill_run(csr_view<V> a, packed_run run, const packed_sizes& at, packed<V>& out, std::size_t place) {
  run.diagonal += at.diagonals;
  run.value += run.values == packed_values::one      ? at.constants
               : run.values == packed_values::single ? at.singles
                                                     : at.fulls;
  out.runs[place] = run;
  const offset begin = a.row_begin[run.first_row];
  for (index k = 0; k < run.width; ++k) {
    out.diagonal[run.diagonal + k] = a.col[begin + k] - run.first_row;
    if (run.values == packed_values::one) out.constant[run.value + k] = a.val[begin + k];
  }
  if (run.values == packed_values::one) return;
  for (index i = 0; i < run.rows; ++i) {
    const offset row = a.row_begin[run.first_row + i], length = a.row_length(run.first_row + i);
    for (index k = 0; k < run.width; ++k) {
      const offset to = run.place_of(k, i);
      const V value = k < length ? a.val[row + k] : V{0};  // those of an exception are never used
      if (run.values == packed_values::single)
        out.single_value[to] = static_cast<float>(value);
      else
        out.full_value[to] = value;
    }
  }
}

/// Where the next entry of a slice's rest goes.
template <class V> class rest_writer {
 public:
  rest_writer(packed<V>& out, const packed_slice& slice)
      : out_(out), slice_(slice), column_(slice.column), value_(slice.value) {}

  void put(index col, V val) {
    const index from_first = col - slice_.first_column;
    if (slice_.columns == packed_columns::near)
      out_.near_column[column_++] = static_cast<std::uint16_t>(from_first);
    else
      out_.far_column[column_++] = from_first;
    if (slice_.values == packed_values::one)
      out_.constant[value_] = val;
    else if (slice_.values == packed_values::single)
      out_.single_value[value_++] = static_cast<float>(val);
    else
      out_.full_value[value_++] = val;
  }

 private:
  packed<V>& out_;
  const packed_slice& slice_;
  offset column_, value_;
};

}  // namespace

packed_sizes& packed_sizes::operator+=(const packed_sizes& o) {
  runs += o.runs;
  rest += o.rest;
  diagonals += o.diagonals;
  constants += o.constants;
  nears += o.nears;
  fars += o.fars;
  singles += o.singles;
  fulls += o.fulls;
  return *this;
}

template <class V> packed_draft draft_slice(csr_view<V> a, index first, index last) {
  packed_draft out = run_finder<V>(a, first, last).find();
  out.sizes.runs = static_cast<offset>(out.runs.size());
  draft_rest(a, first, out);
  return out;
}

template <class V>
void fill_slice(csr_view<V> a, index first, const packed_draft& draft, const packed_sizes& at, packed<V>& out,
                std::size_t slice) {
  for (std::size_t r = 0; r < draft.runs.size(); ++r)
    fill_run(a, draft.runs[r], at, out, static_cast<std::size_t>(at.runs) + r);
  // The values of the rest follow those of the runs.
  packed_slice& s = out.slices[slice];
  offset own_constants = 0, own_singles = 0, own_fulls = 0;
  for (const packed_run& run : draft.runs)
    (run.values == packed_values::one      ? own_constants
     : run.values == packed_values::single ? own_singles
                                           : own_fulls) +=
        run.values == packed_values::one ? run.width : offset{run.width} * run.rows;
  s = {first,
       draft.first_column,
       draft.columns,
       draft.values,
       at.runs,
       at.rest,
       draft.columns == packed_columns::near ? at.nears : at.fars,
       draft.values == packed_values::one      ? at.constants + own_constants
       : draft.values == packed_values::single ? at.singles + own_singles
                                               : at.fulls + own_fulls};
  rest_writer<V> writer(out, s);
  const auto row_of = [&](std::size_t place) { return first + draft.rest[place]; };
  for (std::size_t begin = 0; begin < draft.rest.size(); begin += packed<V>::group_rows) {
    const std::size_t end = std::min<std::size_t>(begin + packed<V>::group_rows, draft.rest.size());
    const bool is_whole = end - begin == static_cast<std::size_t>(packed<V>::group_rows);
    const offset together = is_whole ? a.row_length(row_of(end - 1)) : 0;
    for (offset k = 0; k < together; ++k)
      for (std::size_t r = begin; r < end; ++r)
        writer.put(a.col[a.row_begin[row_of(r)] + k], a.val[a.row_begin[row_of(r)] + k]);
    for (std::size_t r = begin; r < end; ++r) {
      for (offset k = a.row_begin[row_of(r)] + together; k < a.row_begin[row_of(r) + 1]; ++k)
        writer.put(a.col[k], a.val[k]);
      out.rest_row[static_cast<std::size_t>(at.rest) + r] = draft.rest[r];
      out.rest_length[static_cast<std::size_t>(at.rest) + r] = static_cast<index>(a.row_length(row_of(r)));
    }
  }
}

#define NONZERO_INSTANTIATE(V)                                                                       \
  template packed_draft draft_slice(csr_view<V>, index, index);                                      \
  template void fill_slice(csr_view<V>, index, const packed_draft&, const packed_sizes&, packed<V>&, \
                           std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
