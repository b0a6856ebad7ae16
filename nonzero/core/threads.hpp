#pragma once

#include <cstdint>
#include <functional>

namespace nz {

/// The most threads that a call uses from now on, in this process; 0: as many as the machine has for it.
/// Throws `unsupported` for a negative number.
void set_threads(int most);

/// `requested`, or for 0 the most that a call may use: what set_threads() said, else NZ_NUM_THREADS or
/// OMP_NUM_THREADS, else the processors that this process may use.
int thread_count(int requested = 0);

/// Runs task(0) … task(count-1), each once, on up to `threads` threads (0: all). Tasks start in order. If a
/// task throws, tasks that have not started are skipped, and the exception of the lowest task that threw is
/// rethrown: the same one for any number of threads, if whether a task throws depends on that task alone.
void parallel_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

/// Splits [0, count) into ranges of at least `grain` and runs body(begin, end) on them in parallel.
void parallel_ranges(std::int64_t count, std::int64_t grain, int threads,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace nz
