#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>

#include <nonzero/gpu/emulator/sanitizer_internal.hpp>

namespace nz::emulator {

/// Fibers that take turns on one OS thread, the one that made them. Their stacks come from a pool for all OS
/// threads.
class fibers {
 public:
  struct fiber {
    boost::context::fiber rest;  // where it goes on; empty while it runs
    const void* stack_bottom = nullptr;
    std::size_t stack_bytes = 0;
  };

  /// Each fiber runs `body` once, and may return only when is_ending().
  explicit fibers(std::function<void()> body) : body_(std::move(body)) {}
  fibers(const fibers&) = delete;
  fibers& operator=(const fibers&) = delete;
  /// Resumes each fiber, so that it returns. All must be idle.
  ~fibers();

  /// The fiber that runs; at first the OS thread's own.
  fiber& running() { return *running_; }
  fiber& own() { return own_; }
  bool is_ending() const { return is_ending_; }

  /// One that waits for work, or a new one. Throws std::bad_alloc if there is no memory for its stack.
  fiber& take_idle();
  void put_idle(fiber& idle) { idle_.push_back(&idle); }

  /// Leaves the running fiber and goes on with `next`; returns when some fiber comes back to this one.
  void go_on(fiber& next);

 private:
  boost::context::fiber begin(boost::context::fiber&& from);

  std::function<void()> body_;
  fiber own_;
  fiber* running_ = &own_;
  fiber* left_ = nullptr;  // the fiber that ran before running_
  std::deque<fiber> all_;
  std::vector<fiber*> idle_;  // its capacity is at least the size of all_: push_back cannot throw
  bool is_ending_ = false;
};

// Inline: the processor mispredicts each return after a change of stacks.
inline void fibers::go_on(fiber& next) {
  fiber& me = *running_;
  left_ = &me;
  running_ = &next;
  void* kept = nullptr;
  sanitizer::leave_for(&kept, next.stack_bottom, next.stack_bytes);
  boost::context::fiber from = std::move(next.rest).resume();
  sanitizer::arrive(kept, &left_->stack_bottom, &left_->stack_bytes);
  left_->rest = std::move(from);
}

}  // namespace nz::emulator
