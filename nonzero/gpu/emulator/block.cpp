#include <bit>
#include <numeric>
#include <utility>

#include <nonzero/core/hash.hpp>
#include <nonzero/gpu/emulator/block_internal.hpp>

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace nz::emulator {

constinit thread_local clock current{};

namespace {
constinit thread_local block* running_block = nullptr;
}

block* block::running() { return running_block; }

block::block(const bound_kernel& kernel, std::uint64_t order)
    : kernel_(kernel),
      order_(order),
      count_(kernel.shape.block.x * kernel.shape.block.y * kernel.shape.block.z),
      lanes_(count_),
      warps_((count_ + 31) / 32, warp{~0U}),
      synced_(count_),
      turns_(warps_.size()),
      fibers_([this] { serve(); }) {
  const dim3 size = kernel.shape.block;
  place_.reserve(count_);
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x) place_.push_back({x, y, z});
    }
  }
  if (count_ % 32 != 0) warps_.back().there = (1U << count_ % 32) - 1;
  std::iota(turns_.begin(), turns_.end(), 0U);
  dynamic_.bytes = kernel.shape.shared_bytes;
}

void block::run(uint3 index) {
  auto& first = fibers_.take_idle();
  running_block = this;
  begin(index);
  next_fresh_ = choose();
  fibers_.go_on(first);
  running_block = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void block::begin(uint3 index) {
  index_ = index;
  blockIdx = index;
  blockDim = kernel_.shape.block;
  gridDim = kernel_.shape.grid;
  current.block_began = current.barrier_passed = ++current.now;
  current.synced = synced_.data();
  for (warp& each : warps_) each = {each.there, each.there, 0, 0, 0};
  for (lane& each : lanes_) each.stop = {};
  at_barrier_ = left_ = turn_ = 0;
  static_bytes_ = 0;
  if (order_ != 0) {
    const std::uint64_t luck = hash(order_, hash(index.x, hash(index.y, index.z)));
    first_lane_ = luck % 32;
    std::iota(turns_.begin(), turns_.end(), 0U);
    for (unsigned i = 1; i < turns_.size(); ++i) std::swap(turns_[i], turns_[hash(luck, i) % (i + 1)]);
  }
}

// What each fiber does: begin lanes, until it is the turn of one that another fiber holds.
void block::serve() {
  while (!fibers_.is_ending()) {
    run_lanes(next_fresh_);
    unsigned next = choose();
    if (next == none && left_ < count_ && !failure_) {
      cancel(std::make_exception_ptr(stuck()));
      next = choose();
    }
    if (next != none && is_fresh(next)) {
      next_fresh_ = next;
      continue;
    }
    fibers_.put_idle(fibers_.running());
    if (next == none) {
      fibers_.go_on(fibers_.own());
    } else {
      go_on_with(next);
    }
  }
}

// Runs lane `number`, then the fresh ones of its warp: the loop that a kernel without barriers spends its
// time in. When a lane waits, other fibers run others of the warp meanwhile.
void block::run_lanes(unsigned number) {
  warp& in = warps_[number / 32];
  std::exception_ptr thrown;
  try {
    for (;;) {
      in.fresh &= ~(1U << number % 32);
      make_current(number);
      kernel_.call(kernel_.bound);
      if (at_barrier_ > 0) throw left_behind(number);
      leave(in, number);
      if (in.fresh == 0) return;
      number = number / 32 * 32 + first_of(in.fresh);
    }
  } catch (const cancelled&) {
  } catch (...) {
    thrown = std::current_exception();
  }
  leave(in, number);
  if (thrown && !failure_) cancel(thrown);
}

void block::leave(warp& in, unsigned number) {
  in.left |= 1U << number % 32;
  if (left_++ == 0) first_to_leave_ = number;
}

// Drops the lanes that have not begun, and makes the others go on, to find out in wait().
void block::cancel(std::exception_ptr why) {
  failure_ = std::move(why);
  at_barrier_ = 0;
  for (warp& each : warps_) each = {each.there, 0, each.there & ~each.fresh & ~each.left, 0, each.left};
}

void block::wait_for_all(site at) {
  const unsigned me = current.lane;
  lanes_[me].stop = at;
  if (at_barrier_ == 0) barrier_lane_ = me;
  if (left_ > 0 || !(at == lanes_[barrier_lane_].stop)) throw closed_barrier(me);
  if (++at_barrier_ < count_) return wait(me);
  at_barrier_ = 0;
  current.barrier_passed = ++current.now;
  for (warp& each : warps_) each.ready = each.there;
  warps_[me / 32].ready &= ~(1U << me % 32);
}

}  // namespace nz::emulator
