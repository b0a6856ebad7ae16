#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>

namespace nz {

/// The most threads that any call may use.
constexpr int most_threads = 4096;

/// The most threads that a call uses from now on, in this process; 0: the default. Throws `unsupported` for a
/// negative number and for more than most_threads.
void set_threads(int most);

/// `requested`, or for 0 the most that a call of this thread may use: what a thread_limit or set_threads()
/// said; else NZ_NUM_THREADS, or the first number of OMP_NUM_THREADS; else processors(). A variable that is
/// not a number from 1 to most_threads is ignored.
int thread_count(int requested = 0);

/// The processors that this process may use: those of its affinity mask, or fewer where its cgroup may use
/// less CPU time.
int processors();

/// Limits the calls of this thread to so many threads while it lives.
class thread_limit {
 public:
  explicit thread_limit(int most);
  ~thread_limit();
  thread_limit(const thread_limit&) = delete;
  thread_limit& operator=(const thread_limit&) = delete;

 private:
  int before_;
};

class team_barrier;

/// The chunks, or other items, that a thread takes: [begin, end).
struct chunk_range {
  std::int64_t begin, end;
};

/// A thread of a team, as its body sees it.
struct team_thread {
  int number = 0;   // 0 to threads-1; 0 is the caller
  int threads = 1;  // how many there are: maybe fewer than were asked for

  /// What this thread takes of `count` items; the counts of two threads differ by 1 at most.
  chunk_range equal_range(std::int64_t count) const {
    return {count * number / threads, count * (number + 1) / threads};
  }

  /// Returns when all threads of the team have called it, except those that ended by an exception.
  void wait_for_others() const;

  team_barrier* barrier = nullptr;  // null for a team of one
};

/// What in_team passes to team.cpp: the type of the body is known to `run` alone.
struct team_body {
  void (*run)(const void* body, const team_thread& me);
  const void* body;
};
void run_in_team(const team_body& body, int threads);

/// body(me) on up to `threads` threads at once (0: thread_count()), the caller among them; returns when all
/// have returned. If several throw, the exception of the lowest number is rethrown.
///
/// The threads are the process's own and sleep between calls. Callers at the same time share them: together
/// they use about as many threads as one of them may. Where no thread can be started, and within a team, the
/// caller works alone. In a forked child the threads are started anew.
template <class Body> void in_team(int threads, const Body& body) {
  if (threads == 1) return body(team_thread{});
  run_in_team({[](const void* it, const team_thread& me) { (*static_cast<const Body*>(it))(me); },
               std::addressof(body)},
              threads);
}

/// Runs task(0) … task(count-1), each once, on up to `threads` threads (0: all). Tasks start in order. If a
/// task throws, tasks that have not started are skipped, and the exception of the lowest task that threw is
/// rethrown: the same one for any number of threads, if whether a task throws depends on that task alone.
void parallel_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

/// Splits [0, count) into ranges of at least `grain` and runs body(begin, end) on them in parallel.
void parallel_ranges(std::int64_t count, std::int64_t grain, int threads,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace nz
