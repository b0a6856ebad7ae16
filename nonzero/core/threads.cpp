#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <omp.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>

namespace nz {

void set_threads(int most) {
  static const int before = omp_get_max_threads();
  if (most < 0)
    throw unsupported("a number of threads is at least 1, or 0 for the default; given: " +
                      std::to_string(most));
  omp_set_num_threads(most > 0 ? most : before);
}

int thread_count(int requested) { return requested > 0 ? requested : omp_get_max_threads(); }

void parallel_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  std::mutex failure_mutex;
  std::int64_t failed_task = count;
  std::exception_ptr failure;

  auto work = [&] {
    for (std::int64_t i; (i = next.fetch_add(1)) < count;) {
      try {
        task(i);
      } catch (...) {
        next = count;
        const std::lock_guard lock(failure_mutex);
        if (i < failed_task) {
          failed_task = i;
          failure = std::current_exception();
        }
      }
    }
  };

  // Not an OpenMP team: where a thread cannot be had, OpenMP's run-time library ends the program. Here the
  // work is done by those that there are.
  const auto helpers = std::min<std::int64_t>(thread_count(threads), count) - 1;
  std::vector<std::jthread> team;
  try {
    for (std::int64_t t = 0; t < helpers; ++t) team.emplace_back(work);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  work();
  team.clear();  // joins them
  if (failure) std::rethrow_exception(failure);
}

void parallel_ranges(std::int64_t count, std::int64_t grain, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  // A few ranges per thread even out uneven ones.
  const std::int64_t wanted = std::int64_t{4} * thread_count(threads);
  const std::int64_t ranges = std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, wanted);
  parallel_tasks(ranges, threads, [&](std::int64_t r) {
    // count * r could pass 2^63 only for counts past 2^50 or so.
    body(count * r / ranges, count * (r + 1) / ranges);
  });
}

}  // namespace nz
