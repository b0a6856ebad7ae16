#pragma once

#include <cstdint>
#include <functional>

namespace nz {

/// How many threads `requested` stands for: 0 means as many as OpenMP would use (OMP_NUM_THREADS is
/// honoured).
int thread_count(int requested);

/// Runs task(0) … task(count-1), each once, on up to `threads` threads (0: all), handing them out in order.
/// If tasks throw, the others still to start are skipped and the exception of the lowest-numbered one that
/// threw is rethrown: tasks are handed out in order, so it is the same one whatever the number of threads,
/// provided that whether a task throws depends on that task alone.
void parallel_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

/// Cuts [0, count) into contiguous ranges of at least `grain` and runs body(begin, end) on each in parallel.
void parallel_ranges(std::int64_t count, std::int64_t grain, int threads,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace nz
