#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/types.hpp>

namespace nz::cpu {

/// Below this cost (entries plus four times the rows), starting other threads takes longer than they save:
/// half a microsecond while they spin, and much more where they sleep.
constexpr offset least_parallel_cost = 12 * 1024;

/// About equal costs: item i costs cost_before[i + 1] - cost_before[i].
inline chunk_range equal_cost_range(const team_thread& me, std::span<const offset> cost_before) {
  const chunk_range cost = me.equal_range(cost_before.back() - cost_before.front());
  const auto at = [&](offset c) {
    return std::lower_bound(cost_before.begin(), cost_before.end(), cost_before.front() + c) -
           cost_before.begin();
  };
  const bool is_first = me.number == 0, is_last = me.number + 1 == me.threads;
  return {is_first ? 0 : at(cost.begin),
          is_last ? static_cast<offset>(cost_before.size()) - 1 : at(cost.end)};
}

/// body(0) … body(count-1) by the threads of a team, each an equal and consecutive range: a thread first
/// touches the memory that it will later read (NUMA).
inline void for_each_in_team(offset count, const std::function<void(offset)>& body) {
  in_team(count > 1 ? 0 : 1, [&](const team_thread& me) {
    const chunk_range mine = me.equal_range(count);
    for (offset i = mine.begin; i < mine.end; ++i) body(i);
  });
}

/// The sums of a fused step, given those of all chunks: added in order.
inline step_sums add_up(std::span<const step_sums> of_chunks) {
  step_sums total;
  for (const step_sums& of_chunk : of_chunks) total += of_chunk;
  return total;
}

}  // namespace nz::cpu
