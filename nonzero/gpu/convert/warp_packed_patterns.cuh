#pragma once

#include <cstdint>
#include <limits>

#include <nonzero/formats/warp_packed_choice.hpp>
#include <nonzero/gpu/values.cuh>
#include <nonzero/gpu/warp.cuh>

// How a warp goes through a slice of 32 rows of CSR, a row per lane, to convert it to warp_packed, and what
// it finds: the same as formats/warp_packed.cpp on the host.
namespace nz::gpu {

/// A matrix with the order of its rows.
template <class V, class Offset> struct warp_packed_source : csr_view<V, Offset> {
  const index* row;  // of each place; null: place p holds row p
};

/// The remaining entries of this lane's row; none where the lane has no row.
struct lane_entries {
  std::int64_t next = 0, end = 0;

  template <class V, class Offset>
  __device__ lane_entries(const warp_packed_source<V, Offset>& a, std::int64_t slice) {
    const std::int64_t place = slice * 32 + threadIdx.x % 32;
    if (place >= a.rows) return;
    const std::int64_t i = a.row == nullptr ? place : a.row[place];
    next = a.begin(i);
    end = a.end(i);
  }
};

/// A step as a lane sees it. Columns are counted from the first place of the slice.
struct lane_step {
  index column;
  unsigned mask;
  bool has_entry;
  // Of lanes that take part:
  std::int64_t entry;
  std::uint32_t from_column;  // the lane's column minus `column`; 0 along diagonals
};

/// Step k takes every row's k-th entry. The whole warp calls visit(step).
template <class V, class Offset, class Visit>
__device__ void for_each_step_by_rank(const warp_packed_source<V, Offset>& a, std::int64_t slice,
                                      Visit visit) {
  for (lane_entries mine(a, slice);; ++mine.next) {
    const bool has_entry = mine.next < mine.end;
    const unsigned mask = __ballot_sync(full_warp, has_entry);
    if (mask == 0) return;
    const index column =
        has_entry ? a.column(static_cast<Offset>(mine.next)) : std::numeric_limits<index>::max();
    const index lowest = warp_minimum(column);
    visit(lane_step{lowest - static_cast<index>(slice * 32), mask, has_entry, mine.next,
                    has_entry ? static_cast<std::uint32_t>(column - lowest) : 0U});
  }
}

/// Each step takes the lowest diagonal among the next entries of all lanes, for the lanes that have it.
/// Returns false where it stopped after `most` steps, before the end.
template <class V, class Offset, class Visit>
__device__ bool for_each_step_by_diagonal(const warp_packed_source<V, Offset>& a, std::int64_t slice,
                                          offset most, Visit visit) {
  constexpr index none = std::numeric_limits<index>::max();  // no column is so far to the right
  const auto place = static_cast<index>(slice * 32 + threadIdx.x % 32);
  lane_entries mine(a, slice);
  index diagonal = mine.next < mine.end ? a.column(static_cast<Offset>(mine.next)) - place : none;
  for (offset steps = 0;; ++steps) {
    const index lowest = warp_minimum(diagonal);
    if (lowest == none) return true;
    if (steps == most) return false;
    const bool has_entry = diagonal == lowest;
    visit(lane_step{lowest, __ballot_sync(full_warp, has_entry), has_entry, mine.next, 0U});
    if (!has_entry) continue;
    ++mine.next;
    diagonal = mine.next < mine.end ? a.column(static_cast<Offset>(mine.next)) - place : none;
  }
}

/// Walks a slice again, as was chosen for it.
template <class V, class Offset, class Visit>
__device__ void for_each_step_as_chosen(const warp_packed_source<V, Offset>& a, std::int64_t slice,
                                        const warp_packed_choice& how, Visit visit) {
  if (how.width == 0)
    for_each_step_by_diagonal(a, slice, how.steps, visit);
  else
    for_each_step_by_rank(a, slice, visit);
}

/// Collects the properties of a pattern from its steps.
template <class V> class pattern_builder {
 public:
  __device__ void add(const lane_step& now, const V* __restrict__ val) {
    const V value = now.has_entry ? val[now.entry] : V{0};
    const unsigned long long bits = bits_of_value(value);
    const unsigned long long first = __shfl_sync(full_warp, bits, __ffs(static_cast<int>(now.mask)) - 1);
    if (now.has_entry) {
      bool is_single = false;
      to_single(value, is_single);
      are_one_ = are_one_ && bits == first;
      are_single_ = are_single_ && is_single;
      offsets_ = mixed_hash(offsets_, now.from_column);
    }
    ++steps_;
    entries_ += __popc(now.mask);
    columns_ = mixed_hash(columns_, static_cast<std::uint64_t>(now.column) << 32 | now.mask);
    values_ = mixed_hash(values_, first);
  }

  __device__ warp_packed_choice chosen(std::uint8_t width) const {
    const bool are_one = __all_sync(full_warp, are_one_) != 0;
    const bool are_single = __all_sync(full_warp, are_single_) != 0;
    return {steps_, entries_, width, warp_packed_values<V>(are_one, are_single)};
  }

  /// A hash of the whole pattern. The whole warp calls it.
  __device__ std::uint64_t hash(const warp_packed_choice& how) const {
    const auto held = static_cast<std::uint64_t>(how.values) << 8 | how.width;
    const std::uint64_t of_columns = mixed_hash(mixed_hash(columns_, warp_sum(offsets_)), held);
    return how.values == packed_values::one ? mixed_hash(of_columns, values_) : of_columns;
  }

 private:
  offset steps_ = 0, entries_ = 0;
  bool are_one_ = true, are_single_ = true;  // of this lane's values
  std::uint64_t columns_ = 0, values_ = 0;   // the same in all lanes
  std::uint64_t offsets_ = threadIdx.x % 32 + 1;
};

}  // namespace nz::gpu
