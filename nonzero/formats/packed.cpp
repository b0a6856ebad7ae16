#include <algorithm>

#include <fmt/format.h>

#include <nonzero/formats/conversion_internal.hpp>
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

template <class V> packed_sizes sizes_of(const packed<V>& a) {
  packed_sizes all;
  all.runs = static_cast<offset>(a.runs.size());
  all.rest = static_cast<offset>(a.rest_row.size());
  all.diagonals = static_cast<offset>(a.diagonal.size());
  all.constants = static_cast<offset>(a.constant.size());
  all.nears = static_cast<offset>(a.near_column.size());
  all.fars = static_cast<offset>(a.far_column.size());
  all.singles = static_cast<offset>(a.single_value.size());
  all.fulls = static_cast<offset>(a.full_value.size());
  return all;
}

template <class V> std::uint64_t bytes_for(std::size_t slices, const packed_sizes& all) {
  const auto bytes = [](offset count, std::size_t size) { return static_cast<std::uint64_t>(count) * size; };
  return (slices + 1) * sizeof(packed_slice) + bytes(all.runs, sizeof(packed_run)) + bytes(all.rest, 6) +
         bytes(all.diagonals + all.fars + all.singles, 4) + bytes(all.nears, 2) +
         bytes(all.constants + all.fulls, sizeof(V));
}

template <class... Args> [[noreturn]] void refuse(fmt::format_string<Args...> what, Args&&... args) {
  throw shape_error("packed: " + fmt::format(what, std::forward<Args>(args)...));
}

/// Checks a matrix slice by slice. An element is read only after a check that it exists.
template <class V> class packed_checker {
 public:
  explicit packed_checker(const packed<V>& a) : a_(a), have_(sizes_of(a)) {}

  void check() {
    invariants::sizes_are_not_negative("packed", a_.rows, a_.cols);
    invariants::length_is("packed", "rest_length", a_.rest_length.size(), have_.rest);
    check_slices();
    for (std::size_t s = 0; s + 1 < a_.slices.size(); ++s) {
      is_held_.assign(static_cast<std::size_t>(a_.slices[s + 1].first_row - a_.slices[s].first_row), 0);
      check_runs(s);
      check_rest(s);
      check_columns(s);
    }
    check_nothing_is_left();
  }

 private:
  void check_slices() const {
    if (a_.slices.empty()) refuse("slices is empty");
    const packed_slice &first = a_.slices.front(), &last = a_.slices.back();
    if (first.first_row != 0 || first.run != 0 || first.rest != 0) refuse("slice 0 does not start at 0");
    for (std::size_t s = 0; s + 1 < a_.slices.size(); ++s) {
      const packed_slice &here = a_.slices[s], &next = a_.slices[s + 1];
      if (next.first_row < here.first_row || next.run < here.run || next.rest < here.rest)
        refuse("slice {} starts before the one before it", s + 1);
      if (next.first_row - here.first_row > packed<V>::most_slice_rows)
        refuse("slice {} has {} rows; it may have {}", s, next.first_row - here.first_row,
               packed<V>::most_slice_rows);
      if (here.first_column < 0) refuse("first_column of slice {} is {}", s, here.first_column);
      if (here.columns > packed_columns::far || here.values > packed_values::full)
        refuse("slice {} has an unknown kind of columns or values", s);
    }
    if (last.first_row != a_.rows || last.run != have_.runs || last.rest != have_.rest)
      refuse("slices end at row {}, run {} and rest {} instead of {}, {} and {}", last.first_row, last.run,
             last.rest, a_.rows, have_.runs, have_.rest);
  }

  void check_runs(std::size_t s) {
    const packed_slice &slice = a_.slices[s], &behind = a_.slices[s + 1];
    index row = slice.first_row;
    for (offset r = slice.run; r < behind.run; ++r) {
      const packed_run& run = a_.runs[static_cast<std::size_t>(r)];
      if (run.rows < 1 || run.width < 1) refuse("run {} has {} rows of {} entries", r, run.rows, run.width);
      if (run.first_row < row || run.rows > behind.first_row - run.first_row)
        refuse("run {} has {} rows from {} on, where {} to {} are free", r, run.rows, run.first_row, row,
               behind.first_row - 1);
      if (run.values > packed_values::full) refuse("run {} has an unknown kind of values", r);
      take("run", r, "diagonal", run.diagonal, run.width, have_.diagonals, next_.diagonals);
      for (index k = 0; k < run.width; ++k) {
        const offset first = offset{run.first_row} + a_.diagonal[run.diagonal + k];
        if (first < 0 || first + run.rows > a_.cols)
          refuse("run {} has the columns {} to {}, outside 0 to {}", r, first, first + run.rows - 1,
                 a_.cols - 1);
      }
      take_values("run", r, run.values, run.value,
                  run.values == packed_values::one ? run.width : offset{run.width} * run.rows);
      row = run.first_row + run.rows;
      std::fill_n(is_held_.begin() + (run.first_row - slice.first_row), run.rows, in_a_run);
    }
  }

  void check_rest(std::size_t s) {
    const packed_slice &slice = a_.slices[s], &behind = a_.slices[s + 1];
    entries_ = 0;
    for (offset r = slice.rest; r < behind.rest; ++r) {
      const std::size_t local = a_.rest_row[r];
      if (local >= is_held_.size())
        refuse("rest_row[{}] is {}, outside 0 to {}", r, local, static_cast<offset>(is_held_.size()) - 1);
      if (is_held_[local] == in_the_rest) refuse("rest_row[{}] names row {} of its slice twice", r, local);
      is_held_[local] = in_the_rest;
      if (a_.rest_length[r] < 0 || (r > slice.rest && a_.rest_length[r] > a_.rest_length[r - 1]))
        refuse("rest_length[{}] is {}: negative, or longer than the one before it", r, a_.rest_length[r]);
      entries_ += a_.rest_length[r];
    }
    const auto missing = std::find(is_held_.begin(), is_held_.end(), 0);
    if (missing != is_held_.end())
      refuse("row {} is in no run, nor in the rest", slice.first_row + (missing - is_held_.begin()));
  }

  void check_columns(std::size_t s) {
    const packed_slice& slice = a_.slices[s];
    const bool is_near = slice.columns == packed_columns::near, is_one = slice.values == packed_values::one;
    take("slice", static_cast<offset>(s), is_near ? "near_column" : "far_column", slice.column, entries_,
         is_near ? have_.nears : have_.fars, is_near ? next_.nears : next_.fars);
    for (offset k = slice.column; k < slice.column + entries_; ++k) {
      const offset from_first = is_near ? a_.near_column[k] : a_.far_column[k];
      if (from_first < 0 || slice.first_column + from_first >= a_.cols)
        refuse("{}[{}] is {} from column {} on, outside 0 to {}", is_near ? "near_column" : "far_column", k,
               from_first, slice.first_column, a_.cols - 1);
    }
    if (is_one && entries_ == 0) refuse("slice {} has one value but no entries", s);
    take_values("slice", static_cast<offset>(s), slice.values, slice.value, is_one ? 1 : entries_);
  }

  void check_nothing_is_left() const {
    invariants::length_is("packed", "diagonal", a_.diagonal.size(), next_.diagonals);
    invariants::length_is("packed", "constant", a_.constant.size(), next_.constants);
    invariants::length_is("packed", "near_column", a_.near_column.size(), next_.nears);
    invariants::length_is("packed", "far_column", a_.far_column.size(), next_.fars);
    invariants::length_is("packed", "single_value", a_.single_value.size(), next_.singles);
    invariants::length_is("packed", "full_value", a_.full_value.size(), next_.fulls);
  }

  /// The next elements of an array follow the ones before, and all of them exist.
  static void take(std::string_view owner, offset which, std::string_view array, offset begin, offset count,
                   offset length, offset& next) {
    if (begin != next) refuse("{} {} starts at {}[{}] instead of [{}]", owner, which, array, begin, next);
    if (count > length - next)
      refuse("{} {} takes {} elements from {}[{}] on, which is {} long", owner, which, count, array, begin,
             length);
    next += count;
  }

  void take_values(std::string_view owner, offset which, packed_values kind, offset begin, offset count) {
    if (kind == packed_values::one)
      take(owner, which, "constant", begin, count, have_.constants, next_.constants);
    else if (kind == packed_values::single)
      take(owner, which, "single_value", begin, count, have_.singles, next_.singles);
    else
      take(owner, which, "full_value", begin, count, have_.fulls, next_.fulls);
  }

  static constexpr char in_a_run = 1, in_the_rest = 2;
  const packed<V>& a_;
  const packed_sizes have_;
  packed_sizes next_;
  std::vector<char> is_held_;  // of the slice at hand, for each row
  offset entries_ = 0;         // of its rest
};

}  // namespace

template <class V> void validate(const packed<V>& a) { packed_checker<V>(a).check(); }

void run_in_order(offset count, const std::function<void(offset)>& body) {
  for (offset i = 0; i < count; ++i) body(i);
}

template <class V>
packed<V> to_packed(csr_view<V> a, std::span<const index> first_row, const for_each_runner& for_each) {
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
  out.slices = std::vector<packed_slice>(slices + 1);
  make_room(out, at.back());
  for_each(static_cast<offset>(slices), [&](offset s) {
    const auto slice = static_cast<std::size_t>(s);
    fill_slice(a, first_row[slice], drafts[slice], at[slice], out, slice);
  });
  out.slices.back() = {a.rows, 0, {}, {}, at.back().runs, at.back().rest, 0, 0};
  return out;
}

template <class V> packed<V> to_packed(csr_view<V> a) {
  return to_packed(a, equal_slices(a.rows), run_in_order);
}

template <class V> csr<V> to_csr(const packed<V>& a) { return csr_from_entries<V>(a); }

template <class V> footprint footprint_of(const packed<V>& a) {
  return {bytes_for<V>(a.slices.size() - 1, sizes_of(a)), 0};
}

template <class V> footprint packed_footprint(csr_view<V> a) {
  const std::vector<index> first_row = equal_slices(a.rows);
  packed_sizes all;
  for (std::size_t s = 0; s + 1 < first_row.size(); ++s)
    all += draft_slice(a, first_row[s], first_row[s + 1]).sizes;
  return {bytes_for<V>(first_row.size() - 1, all), 0};
}

#define NONZERO_INSTANTIATE(V)                                                               \
  template packed<V> to_packed(csr_view<V>, std::span<const index>, const for_each_runner&); \
  template packed<V> to_packed(csr_view<V>);                                                 \
  template csr<V> to_csr(const packed<V>&);                                                  \
  template void validate(const packed<V>&);                                                  \
  template footprint footprint_of(const packed<V>&);                                         \
  template footprint packed_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
