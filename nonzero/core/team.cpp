#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>

#include <nonzero/core/threads.hpp>

// The process's threads. Each has an order to wait for: first it spins, as the next multiply often comes
// within microseconds; then it sleeps until it is woken. Where there are more of them than processors, it
// lets others have the processor before it sleeps. Elsewhere that would cost a time slice, some milliseconds,
// whenever another program wants the processor.
namespace nz {
namespace {

using clock = std::chrono::steady_clock;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // waits as long as x86's pause; "yield" does nothing on most processors
#endif
}

/// How long a thread that waits does not sleep. OMP_WAIT_POLICY=passive: not at all.
std::chrono::microseconds patience() {
  static constinit std::atomic<int> known{-1};
  int found = known.load(std::memory_order_relaxed);
  if (found < 0) {
    const char* const asked = std::getenv("OMP_WAIT_POLICY");
    const std::string_view policy = asked == nullptr ? "" : asked;
    constexpr int usual = 2000, active = 200'000;
    found = policy == "passive" || policy == "PASSIVE" ? 0
            : policy == "active" || policy == "ACTIVE" ? active
                                                       : usual;
    known.store(found, std::memory_order_relaxed);
  }
  return std::chrono::microseconds(found);
}

/// The process's own threads, besides its callers.
constinit std::atomic<int> started_threads{0};

/// Waits while `value` is `old`, and not so long that it has to sleep. Returns whether it is still `old`.
template <class T> bool spin_while(const std::atomic<T>& value, T old) {
  constexpr int pauses = 500;  // 10 to 30 microseconds
  const auto most = patience();
  if (most.count() == 0) return value.load(std::memory_order_acquire) == old;
  for (int i = 0; i < pauses; ++i) {
    if (value.load(std::memory_order_acquire) != old) return false;
    pause_briefly();
  }
  const bool yields = started_threads.load(std::memory_order_relaxed) >= processors();
  for (const auto end = clock::now() + most; clock::now() < end;)
    for (int i = 0; i < (yields ? 1 : pauses / 10); ++i) {
      if (value.load(std::memory_order_acquire) != old) return false;
      if (yields)
        sched_yield();
      else
        pause_briefly();
    }
  return true;
}

}  // namespace

/// Threads that wait for each other. One that drops out is no longer waited for.
class team_barrier {
 public:
  explicit team_barrier(int threads) : count_(static_cast<std::uint32_t>(threads) * one_thread) {}

  void wait() {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (opens(count_.fetch_add(1, std::memory_order_acq_rel) + 1)) return open();
    if (!spin_while(phase_, phase)) return;
    while (phase_.load(std::memory_order_acquire) == phase) phase_.wait(phase, std::memory_order_acquire);
  }
  void drop_out() {
    if (opens(count_.fetch_sub(one_thread, std::memory_order_acq_rel) - one_thread)) open();
  }

 private:
  static constexpr std::uint32_t one_thread = 1U << 16, waiting = one_thread - 1;

  /// Whether all threads that there are wait: only the call that makes it so sees it.
  static bool opens(std::uint32_t count) {
    return (count & waiting) > 0 && (count & waiting) == count / one_thread;
  }
  void open() {
    count_.fetch_and(~waiting, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
  }

  std::atomic<std::uint32_t> count_;  // of threads, times 2^16, and of those that wait
  std::atomic<std::uint32_t> phase_{0};
};

void team_thread::wait_for_others() const {
  if (barrier != nullptr) barrier->wait();
}

namespace {

/// Whether this thread runs a body: what it calls then runs on it alone.
thread_local bool is_in_team = false;

/// A body that a team runs, and how it failed.
class team_run {
 public:
  team_run(const team_body& body, int threads)
      : body_(body), threads_(threads), barrier_(threads), failed_(threads) {}

  void run(int number) {
    is_in_team = true;
    try {
      body_.run(body_.body, {number, threads_, &barrier_});
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (number < failed_) {
        failed_ = number;
        failure_ = std::current_exception();
      }
    }
    barrier_.drop_out();
    is_in_team = false;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const team_body& body_;
  const int threads_;
  team_barrier barrier_;
  std::mutex failure_mutex_;
  int failed_;  // the lowest number that threw
  std::exception_ptr failure_;
};

/// A thread that waits for orders until the process ends.
class alignas(64) worker {
 public:
  worker* next = nullptr;  // of the same caller

  /// Throws `std::system_error` or `std::bad_alloc` where no thread can be had.
  worker() {
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { serve(); }).detach();
      started_threads.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  void begin(team_run& what, int number) {
    what_ = &what;
    number_ = number;
    if (state_.exchange(working, std::memory_order_acq_rel) == asleep) state_.notify_one();
  }
  void wait_for_end() {
    if (!spin_while<int>(state_, working)) return;
    int found = working;
    if (!state_.compare_exchange_strong(found, awaited, std::memory_order_acq_rel)) return;
    while (state_.load(std::memory_order_acquire) == awaited) state_.wait(awaited, std::memory_order_acquire);
  }

 private:
  enum : int { idle, asleep, working, awaited };

  [[noreturn]] void serve() {
    for (;;) {
      if (spin_while<int>(state_, idle)) {
        int found = idle;
        if (state_.compare_exchange_strong(found, asleep, std::memory_order_acq_rel))
          while (state_.load(std::memory_order_acquire) == asleep)
            state_.wait(asleep, std::memory_order_acquire);
      }
      what_->run(number_);
      if (state_.exchange(idle, std::memory_order_acq_rel) == awaited) state_.notify_one();
    }
  }

  std::atomic<int> state_{idle};
  team_run* what_ = nullptr;  // of the order
  int number_ = 0;
};

/// All workers of a process. Callers take idle ones and give them back.
class workers {
 public:
  void run(const team_body& body, int threads) {
    const taken mine(*this, threads);
    if (mine.count == 0) return body.run(body.body, {});
    team_run all(body, mine.count + 1);
    int number = 0;
    for (worker* w = mine.first; w != nullptr; w = w->next) w->begin(all, ++number);
    all.run(0);
    for (worker* w = mine.first; w != nullptr; w = w->next) w->wait_for_end();
    all.rethrow();
  }

 private:
  struct place {
    std::unique_ptr<worker> who;
    bool is_idle = true;
  };
  /// The workers of a caller, while this lives. Always the first that are idle, so that a thread multiplies
  /// the same rows each time: they may be in its cache.
  struct taken {
    taken(workers& from, int threads) : all(from) {
      const std::lock_guard lock(all.mutex_);
      ++all.callers_;
      const int wanted = (threads + all.callers_ - 1) / all.callers_ - 1;
      all.grow(static_cast<std::size_t>(wanted));
      worker** last = &first;
      for (std::size_t i = 0; i < all.places_.size() && count < wanted; ++i) {
        if (!std::exchange(all.places_[i].is_idle, false)) continue;
        *last = all.places_[i].who.get();
        last = &(*last)->next;
        ++count;
      }
      *last = nullptr;
    }
    ~taken() {
      const std::lock_guard lock(all.mutex_);
      --all.callers_;
      std::size_t i = 0;
      for (const worker* w = first; w != nullptr; w = w->next) {
        while (all.places_[i].who.get() != w) ++i;
        all.places_[i].is_idle = true;
      }
    }
    taken(const taken&) = delete;
    taken& operator=(const taken&) = delete;

    workers& all;
    worker* first = nullptr;  // they are linked
    int count = 0;
  };

  /// Where a thread cannot be started, the next thousand calls do not try again.
  void grow(std::size_t wanted) {
    if (places_.size() >= wanted || (calls_to_skip_ > 0 && --calls_to_skip_ > 0)) return;
    try {
      places_.reserve(wanted);
      while (places_.size() < wanted) places_.push_back({std::make_unique<worker>()});
    } catch (const std::system_error&) {
      calls_to_skip_ = 1000;
    } catch (const std::bad_alloc&) {
      calls_to_skip_ = 1000;
    }
  }

  std::mutex mutex_;  // of all below
  std::vector<place> places_;
  int callers_ = 0, calls_to_skip_ = 0;
};

constinit std::atomic<workers*> current{nullptr}, of_parent{nullptr};

/// Never destroyed, as its threads wait until the process ends. A child process has none of its parent's
/// threads, and locks may be held that nobody will release: it begins anew. Null where there is no memory.
workers* workers_of_process() {
  workers* found = current.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  // Registered before anybody can have workers; twice does no harm, where two threads come here first.
  static constinit std::atomic<bool> knows_of_forks{false};
  if (!knows_of_forks.load()) {
    const auto begin_anew = [] {
      if (workers* const before = current.exchange(nullptr)) of_parent = before;
      started_threads = 0;
    };
    if (pthread_atfork(nullptr, nullptr, begin_anew) != 0) return nullptr;
    knows_of_forks.store(true);
  }
  auto* const made = new (std::nothrow) workers;
  if (made == nullptr || current.compare_exchange_strong(found, made)) return made;
  delete made;
  return found;
}

}  // namespace

void run_in_team(const team_body& body, int threads) {
  threads = std::min(thread_count(threads), most_threads);
  workers* const all = threads == 1 || is_in_team ? nullptr : workers_of_process();
  if (all == nullptr) return body.run(body.body, {});
  all->run(body, threads);
}

}  // namespace nz
