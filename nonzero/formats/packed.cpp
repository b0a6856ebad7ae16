#include <algorithm>
#include <functional>

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

/// body(index in packed_sizes, array) for each array but the slices.
template <class Packed, class Body> void for_each_array(Packed& a, const Body& body) {
  body(in_runs, a.runs);
  body(in_rest, a.rest_row);
  body(in_rest, a.rest_length);
  body(in_quads, a.quad_row);
  body(in_quads, a.quad_length);
  body(in_diagonal, a.diagonal);
  body(in_mask, a.mask);
  body(in_near, a.near_column);
  body(in_far, a.far_column);
  body(in_constant, a.constant);
  body(in_single, a.single_value);
  body(in_full, a.full_value);
}

void add(const packed_sizes& sizes, packed_sizes& to) {
  std::transform(sizes.begin(), sizes.end(), to.begin(), to.begin(), std::plus());
}

constexpr invariants check{"packed"};

/// Checks a matrix slice by slice. An element is read only after a check that it exists.
template <class V> class packed_checker {
 public:
  explicit packed_checker(const packed<V>& a) : a_(a) {
    for_each_array(
        a, [&](packed_array which, const auto& array) { have_[which] = static_cast<offset>(array.size()); });
  }

  void check_all() {
    check.sizes(a_.rows, a_.cols);
    check.length("rest_length", a_.rest_length.size(), static_cast<offset>(a_.rest_row.size()));
    check.length("quad_length", a_.quad_length.size(), static_cast<offset>(a_.quad_row.size()));
    check_slices();
    for (std::size_t s = 0; s + 1 < a_.slices.size(); ++s) {
      is_held_.assign(static_cast<std::size_t>(a_.slices[s + 1].first_row - a_.slices[s].first_row), 0);
      check_runs(s);
      const offset entries = check_rest(s);
      check_columns(s, entries, check_quads(s));
    }
    for (std::size_t i = in_diagonal; i < next_.size(); ++i)
      check.length(names[i], static_cast<std::size_t>(have_[i]), next_[i]);
  }

 private:
  void check_slices() const {
    check.that(!a_.slices.empty(), "slices is empty");
    const packed_slice &first = a_.slices.front(), &last = a_.slices.back();
    check.that(first.first_row == 0 && first.run == 0 && first.rest == 0 && first.quads == 0,
               "slice 0 does not start at 0");
    for (std::size_t s = 0; s + 1 < a_.slices.size(); ++s) {
      const packed_slice &here = a_.slices[s], &next = a_.slices[s + 1];
      check.that(next.first_row >= here.first_row && next.run >= here.run && next.rest >= here.rest &&
                     next.quads >= here.quads,
                 "slice {} starts before the one before it", s + 1);
      check.that(next.first_row - here.first_row <= a_.most_slice_rows,
                 "slice {} has {} rows; it may have {}", s, next.first_row - here.first_row,
                 a_.most_slice_rows);
      check.that(here.first_column >= 0, "first_column of slice {} is {}", s, here.first_column);
      check.that(here.columns <= packed_columns::far && here.values <= packed_values::full,
                 "slice {} has an unknown kind of columns or values", s);
    }
    check.that(last.first_row == a_.rows && last.run == have_[in_runs] && last.rest == have_[in_rest] &&
                   last.quads == have_[in_quads],
               "slices end at row {}, run {}, rest {} and quads {} instead of {}, {}, {} and {}",
               last.first_row, last.run, last.rest, last.quads, a_.rows, have_[in_runs], have_[in_rest],
               have_[in_quads]);
  }

  void check_runs(std::size_t s) {
    const packed_slice &slice = a_.slices[s], &behind = a_.slices[s + 1];
    index row = slice.first_row;
    for (offset r = slice.run; r < behind.run; ++r) {
      const packed_run& run = a_.runs[static_cast<std::size_t>(r)];
      check.that(run.rows >= 1 && run.width >= 1, "run {} has {} rows of {} entries", r, run.rows, run.width);
      check.that(run.first_row >= row && run.rows <= behind.first_row - run.first_row,
                 "run {} has {} rows from {} on, where {} to {} are free", r, run.rows, run.first_row, row,
                 behind.first_row - 1);
      check.that(run.values <= packed_values::full, "run {} has an unknown kind of values", r);
      take("run", r, in_diagonal, run.diagonal, run.width);
      for (index k = 0; k < run.width; ++k) {
        const offset first = offset{run.first_row} + a_.diagonal[run.diagonal + k];
        check.that(first >= 0 && first + run.rows <= a_.cols,
                   "run {} has the columns {} to {}, outside 0 to {}", r, first, first + run.rows - 1,
                   a_.cols - 1);
      }
      take("run", r, array_of(run.values), run.value, run.stored_values());
      if (run.mask != run.none) take("run", r, in_mask, run.mask, run.stored_masks());
      row = run.first_row + run.rows;
      std::fill_n(is_held_.begin() + (run.first_row - slice.first_row), run.rows, in_a_run);
    }
  }

  /// Returns the number of entries.
  offset check_rest(std::size_t s) {
    const packed_slice &slice = a_.slices[s], &behind = a_.slices[s + 1];
    offset entries = 0;
    for (offset r = slice.rest; r < behind.rest; ++r) {
      const std::size_t local = a_.rest_row[r];
      check.that(local < is_held_.size(), "rest_row[{}] is {}, outside 0 to {}", r, local,
                 static_cast<offset>(is_held_.size()) - 1);
      check.that(is_held_[local] != in_the_rest, "rest_row[{}] names row {} of its slice twice", r, local);
      is_held_[local] = in_the_rest;
      check.that(a_.rest_length[r] >= 0 && (r == slice.rest || a_.rest_length[r] <= a_.rest_length[r - 1]),
                 "rest_length[{}] is {}: negative, or longer than the one before it", r, a_.rest_length[r]);
      entries += a_.rest_length[r];
    }
    const auto missing = std::find(is_held_.begin(), is_held_.end(), 0);
    check.that(missing == is_held_.end(), "row {} is in no run, nor in the rest",
               slice.first_row + (missing - is_held_.begin()));
    return entries;
  }

  /// Returns the number of quads. After check_rest.
  offset check_quads(std::size_t s) {
    const packed_slice &slice = a_.slices[s], &behind = a_.slices[s + 1];
    offset quads = 0;
    for (offset q = slice.quads; q < behind.quads; ++q) {
      const std::size_t local = a_.quad_row[q];
      check.that(local < is_held_.size(), "quad_row[{}] is {}, outside 0 to {}", q, local,
                 static_cast<offset>(is_held_.size()) - 1);
      check.that(is_held_[local] == in_the_rest,
                 "quad_row[{}] is row {} of its slice, which is not in the rest or is named twice", q, local);
      is_held_[local] = has_quads;
      check.that(a_.quad_length[q] >= 1 && (q == slice.quads || a_.quad_length[q] <= a_.quad_length[q - 1]),
                 "quad_length[{}] is {}: less than 1, or more than the one before it", q, a_.quad_length[q]);
      quads += a_.quad_length[q];
    }
    return quads;
  }

  void check_columns(std::size_t s, offset singles, offset quads) {
    const packed_slice& slice = a_.slices[s];
    const packed_array columns = array_of(slice.columns);
    const offset entries = singles + a_.quad_entries * quads;
    take("slice", static_cast<offset>(s), columns, slice.column, singles + quads);
    for (offset k = slice.column; k < slice.column + singles + quads; ++k) {
      const offset from_first = columns == in_near ? a_.near_column[k] : a_.far_column[k];
      const index last = k < slice.column + singles ? 0 : a_.quad_entries - 1;
      check.that(from_first >= 0 && slice.first_column + from_first + last < a_.cols,
                 "{}[{}] is {} from column {} on, outside 0 to {}", names[columns], k, from_first,
                 slice.first_column, a_.cols - 1 - last);
    }
    const bool is_one = slice.values == packed_values::one;
    check.that(!is_one || entries > 0, "slice {} has one value but no entries", s);
    take("slice", static_cast<offset>(s), array_of(slice.values), slice.value, is_one ? 1 : entries);
  }

  /// The next elements of an array follow the ones before, and all of them exist.
  void take(std::string_view owner, offset which, packed_array array, offset begin, offset count) {
    offset& next = next_[array];
    check.that(begin == next, "{} {} starts at {}[{}] instead of [{}]", owner, which, names[array], begin,
               next);
    check.that(count <= have_[array] - next, "{} {} takes {} elements from {}[{}] on, which is {} long",
               owner, which, count, names[array], begin, have_[array]);
    next += count;
  }

  static constexpr std::string_view names[] = {"runs",         "rest_row",    "quad_row",   "diagonal",
                                               "mask",         "near_column", "far_column", "constant",
                                               "single_value", "full_value"};
  static constexpr char in_a_run = 1, in_the_rest = 2, has_quads = 3;
  const packed<V>& a_;
  packed_sizes have_{}, next_{};
  std::vector<char> is_held_;  // of the current slice, for each row
};

}  // namespace

template <class V> void validate(const packed<V>& a) { packed_checker<V>(a).check_all(); }

void run_in_order(offset count, const std::function<void(offset)>& body) {
  for (offset i = 0; i < count; ++i) body(i);
}

template <class V>
packed<V> to_packed(csr_view<V> a, std::span<const index> first_row, const for_each_runner& for_each) {
  a = validated(a);
  check.that(!first_row.empty() && first_row.front() == 0 && first_row.back() == a.rows &&
                 std::ranges::is_sorted(first_row),
             "first_row does not rise from 0 to the {} rows", a.rows);
  const std::size_t slices = first_row.size() - 1;
  for (std::size_t s = 0; s < slices; ++s)
    check.that(first_row[s + 1] - first_row[s] <= packed<V>::most_slice_rows,
               "{} rows are too many for a slice", first_row[s + 1] - first_row[s]);
  std::vector<packed_draft> drafts(slices);
  for_each(static_cast<offset>(slices), [&](offset s) {
    drafts[static_cast<std::size_t>(s)] =
        draft_slice(a, first_row[static_cast<std::size_t>(s)], first_row[static_cast<std::size_t>(s) + 1]);
  });
  std::vector<packed_sizes> at(slices + 1);
  for (std::size_t s = 0; s < slices; ++s) add(drafts[s].sizes, at[s + 1] = at[s]);
  packed<V> out;
  out.rows = a.rows;
  out.cols = a.cols;
  out.slices = std::vector<packed_slice>(slices + 1);
  for_each_array(out, [&](packed_array which, auto& array) {
    array.resize(static_cast<std::size_t>(at.back()[which]));
  });
  for_each(static_cast<offset>(slices), [&](offset s) {
    const auto slice = static_cast<std::size_t>(s);
    fill_slice(a, drafts[slice], at[slice], out, slice);
  });
  out.slices.back() = {a.rows, 0, {}, {}, at.back()[in_runs], at.back()[in_rest], at.back()[in_quads], 0, 0};
  return out;
}

template <class V> packed<V> to_packed(csr_view<V> a) {
  a = validated(a);
  return to_packed(a, equal_slices(a.rows), run_in_order);
}

template <class V> footprint footprint_of(const packed<V>& a) {
  std::uint64_t bytes = bytes_of(a.slices);
  for_each_array(a, [&](packed_array, const auto& array) { bytes += bytes_of(array); });
  return {bytes, 0};
}

template <class V> footprint packed_footprint(csr_view<V> a) {
  a = validated(a);
  const std::vector<index> first_row = equal_slices(a.rows);
  packed_sizes all{};
  for (std::size_t s = 0; s + 1 < first_row.size(); ++s)
    add(draft_slice(a, first_row[s], first_row[s + 1]).sizes, all);
  std::uint64_t bytes = first_row.size() * sizeof(packed_slice);
  const packed<V> none;
  for_each_array(none, [&](packed_array which, const auto& array) {
    bytes += static_cast<std::uint64_t>(all[which]) * sizeof array[0];
  });
  return {bytes, 0};
}

#define NONZERO_INSTANTIATE(V)                                                               \
  template packed<V> to_packed(csr_view<V>, std::span<const index>, const for_each_runner&); \
  template packed<V> to_packed(csr_view<V>);                                                 \
  template void validate(const packed<V>&);                                                  \
  template footprint footprint_of(const packed<V>&);                                         \
  template footprint packed_footprint(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
