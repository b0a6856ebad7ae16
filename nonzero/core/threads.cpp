#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>

#include <sched.h>

#include <nonzero/core/cgroups.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>

// How many threads there may be, and the usual ways to divide work among them. The threads are in team.cpp.
namespace nz {
namespace {

std::atomic<int> asked_for{0};       // by set_threads
thread_local int limit_of_this = 0;  // by thread_limit

/// The number at the start of a variable, as in OMP_NUM_THREADS=4,2; 0 where there is none to use.
int number_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return 0;
  std::string_view text(value);
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool ends = end == text.data() + text.size() || *end == ',' || *end == ' ' || *end == '\t';
  return wrong == std::errc{} && ends && number >= 1 && number <= most_threads ? number : 0;
}

int processors_of_affinity() {
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {  // EINVAL: the kernel knows more processors
    cpu_set_t* const mask = CPU_ALLOC(static_cast<std::size_t>(most));
    if (mask == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    const int found = sched_getaffinity(0, bytes, mask) == 0 ? CPU_COUNT_S(bytes, mask) : 0;
    CPU_FREE(mask);
    if (found > 0) return found;
  }
  return 1;
}

/// What `find` returns, found once. Not a static constant: a thread that forks while another initialises it
/// would leave the child waiting for that.
template <class Find> int once(std::atomic<int>& known, const Find& find) {
  int found = known.load(std::memory_order_relaxed);
  if (found == 0) known.store(found = find(), std::memory_order_relaxed);
  return found;
}

int default_threads() {
  static constinit std::atomic<int> known{0};
  return once(known, [] {
    if (const int asked = number_in("NZ_NUM_THREADS"); asked > 0) return asked;
    if (const int asked = number_in("OMP_NUM_THREADS"); asked > 0) return asked;
    return std::min(processors(), most_threads);
  });
}

}  // namespace

int processors() {
  static constinit std::atomic<int> known{0};
  return once(known, [] {
    const int own = processors_of_affinity(), limit = processors_of_cgroups();
    return limit > 0 ? std::min(own, limit) : own;
  });
}

void set_threads(int most) {
  if (most < 0 || most > most_threads)
    throw unsupported("a number of threads is from 1 to " + std::to_string(most_threads) +
                      ", or 0 for the default; given: " + std::to_string(most));
  asked_for = most;
}

int thread_count(int requested) {
  if (requested > 0) return requested;
  if (limit_of_this > 0) return limit_of_this;
  const int asked = asked_for.load(std::memory_order_relaxed);
  return asked > 0 ? asked : default_threads();
}

thread_limit::thread_limit(int most) : before_(limit_of_this) { limit_of_this = most; }
thread_limit::~thread_limit() { limit_of_this = before_; }

void parallel_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  std::mutex failure_mutex;
  std::int64_t failed_task = count;
  std::exception_ptr failure;

  const auto work = [&](const team_thread&) {
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
  if (count > 0) in_team(static_cast<int>(std::min<std::int64_t>(thread_count(threads), count)), work);
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
