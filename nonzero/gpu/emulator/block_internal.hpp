#pragma once

#include <bit>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/fibers_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>
#include <nonzero/gpu/emulator/shared_internal.hpp>
#include <nonzero/gpu/emulator/warp_internal.hpp>

namespace nz::emulator {

/// Runs blocks of one kernel, one after the other, on the OS thread that made it.
///
/// A fiber runs lanes one after another, as in a loop, until one has to wait. That lane keeps the fiber, and
/// another fiber continues. All lanes of a warp run before those of the next: the block changes to another
/// warp when all lanes of this one wait or are done.
class block {
 public:
  explicit block(const bound_kernel& kernel, std::uint64_t order);
  block(const block&) = delete;
  block& operator=(const block&) = delete;
  ~block() = default;

  /// The one whose lanes run on this OS thread, or null.
  static block* running();

  void run(uint3 index);

  // Called by the running lane.
  void wait_for_all(site at);
  std::uint64_t exchange(const request& wanted);
  dynamic_memory& dynamic() { return dynamic_; }
  void add_static_shared(std::size_t bytes);

  /// What to throw about a lane of this block.
  device_error failure(unsigned number, const std::string& what) const;
  /// "lane (3,0,0)".
  std::string name(unsigned number) const;
  /// " after file:line", where the lane waited last; empty if nowhere yet.
  std::string last_stop(unsigned number) const;

 private:
  struct lane {
    fibers::fiber* fiber = nullptr;  // that it waits on
    request wanted;                  // its last call of a warp's operation
    std::uint64_t got = 0;           // the result of that call
    site stop;                       // where it waited last: at a barrier of the block or in its warp
  };
  struct warp {                 // a bit per lane
    std::uint32_t there = 0;    // exist: all, except in a last warp that is not full
    std::uint32_t fresh = 0;    // have not begun
    std::uint32_t ready = 0;    // have waited, and can continue
    std::uint32_t waiting = 0;  // wait for other lanes of the warp
    std::uint32_t left = 0;     // have left the kernel
  };
  struct cancelled {};  // thrown through the lanes that still wait when one has failed

  static constexpr unsigned none = ~0U;

  void begin(uint3 index);
  void serve();
  void run_lanes(unsigned number);
  void leave(warp& in, unsigned number);
  void cancel(std::exception_ptr why);

  unsigned choose();
  bool is_fresh(unsigned number) const { return (warps_[number / 32].fresh >> (number % 32) & 1U) != 0; }
  /// The first of some lanes of a warp to run; `lanes` is not 0.
  unsigned first_of(std::uint32_t lanes) const {
    const int after_first = std::countr_zero(std::rotr(lanes, static_cast<int>(first_lane_)));
    return (first_lane_ + static_cast<unsigned>(after_first)) % 32;
  }
  void make_current(unsigned number) {
    current.lane = number;
    threadIdx = place_[number];
  }
  void go_on_with(unsigned number);
  void wait(unsigned number);

  void check(unsigned me, const request& wanted) const;
  bool all_agree(const request& wanted, unsigned first) const;
  void settle(const request& wanted, unsigned first);
  std::uint64_t shuffled_value(unsigned number) const;

  device_error closed_barrier(unsigned me) const;
  device_error left_behind(unsigned me) const;
  device_error stuck() const;
  std::string doing(unsigned number) const;

  const bound_kernel& kernel_;
  std::uint64_t order_;
  unsigned count_;            // of lanes
  std::vector<uint3> place_;  // threadIdx of each lane
  std::vector<lane> lanes_;
  std::vector<warp> warps_;
  std::vector<std::uint64_t> synced_;  // when each lane passed its last __syncwarp
  std::vector<unsigned> turns_;        // warps, in the order in which they run
  unsigned turn_ = 0;                  // the place in turns_ of the warp that runs
  unsigned first_lane_ = 0;            // of each warp, the one to run first

  unsigned at_barrier_ = 0;    // lanes that wait for the whole block
  unsigned barrier_lane_ = 0;  // the first of them
  unsigned left_ = 0;          // lanes that have left the kernel
  unsigned first_to_leave_ = 0;
  unsigned next_fresh_ = none;  // the lane that the next fiber begins with
  std::exception_ptr failure_;
  uint3 index_{};
  std::size_t static_bytes_ = 0;  // of the shared arrays that this block has used
  dynamic_memory dynamic_;
  fibers fibers_;  // last: ends before what it uses
};

// The next lane that can run, of the warp that ran last if it has one.
inline unsigned block::choose() {
  for (std::size_t tried = 0; tried < turns_.size(); ++tried) {
    const warp& in = warps_[turns_[turn_]];
    if (in.fresh != 0) return turns_[turn_] * 32 + first_of(in.fresh);
    if (in.ready != 0) return turns_[turn_] * 32 + first_of(in.ready);
    turn_ = turn_ + 1 < turns_.size() ? turn_ + 1 : 0;
  }
  return none;
}

inline void block::go_on_with(unsigned number) {
  if (is_fresh(number)) {
    next_fresh_ = number;
    fibers_.go_on(fibers_.take_idle());
  } else {
    warps_[number / 32].ready &= ~(1U << number % 32);
    make_current(number);
    fibers_.go_on(*lanes_[number].fiber);
  }
}

inline void block::wait(unsigned number) {
  lanes_[number].fiber = &fibers_.running();
  const unsigned next = choose();
  if (next == none) throw stuck();
  go_on_with(next);
  if (failure_) throw cancelled{};
}

}  // namespace nz::emulator
