#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <span>

#include <omp.h>

#include <nonzero/core/fused_step.hpp>
#include <nonzero/core/types.hpp>

namespace nz::cpu {

/// Below this cost (entries plus four times the rows), starting other threads takes longer than they save:
/// two microseconds, and much more on a busy machine. Such a kernel runs without OpenMP: even a team of one
/// thread takes 0.3 microseconds.
constexpr offset least_parallel_cost = 16 * 1024;

/// The chunks, or other items, that a thread takes: [begin, end).
struct chunk_range {
  offset begin, end;
};

/// Equal counts, for the calling thread of an OpenMP team.
inline chunk_range equal_range(offset count) {
  const offset thread = omp_get_thread_num(), threads = omp_get_num_threads();
  return {count * thread / threads, count * (thread + 1) / threads};
}

/// About equal costs: item i costs cost_before[i + 1] - cost_before[i].
inline chunk_range equal_cost_range(std::span<const offset> cost_before) {
  const chunk_range cost = equal_range(cost_before.back() - cost_before.front());
  const auto at = [&](offset c) {
    return std::lower_bound(cost_before.begin(), cost_before.end(), cost_before.front() + c) -
           cost_before.begin();
  };
  const bool is_first = omp_get_thread_num() == 0,
             is_last = omp_get_thread_num() + 1 == omp_get_num_threads();
  return {is_first ? 0 : at(cost.begin),
          is_last ? static_cast<offset>(cost_before.size()) - 1 : at(cost.end)};
}

/// body(0) … body(count-1) by the threads of a team, each an equal and consecutive range: a thread first
/// touches the memory that it will later read (NUMA).
inline void run_in_team(offset count, const std::function<void(offset)>& body) {
  std::exception_ptr failure;
#pragma omp parallel if (count > 1)
  {
    try {
      const chunk_range mine = equal_range(count);
      for (offset i = mine.begin; i < mine.end; ++i) body(i);
    } catch (...) {
#pragma omp critical(nonzero_team_failure)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// The sums of a fused step, given those of all chunks: added in order.
inline step_sums add_up(std::span<const step_sums> of_chunks) {
  step_sums total;
  for (const step_sums& of_chunk : of_chunks) total += of_chunk;
  return total;
}

}  // namespace nz::cpu
