#include <bit>
#include <cstring>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/block_internal.hpp>

// The messages about what lanes did wrong.

namespace nz::emulator {
namespace {

std::string text(uint3 at) { return fmt::format("({},{},{})", at.x, at.y, at.z); }

// Only the file's name: its folders are those of the machine that built this.
std::string text(site at) {
  const char* slash = std::strrchr(at.file, '/');
  return fmt::format("{}:{}", slash == nullptr ? at.file : slash + 1, at.line);
}

const char* name_of(operation what) {
  constexpr const char* names[] = {"__shfl_sync",     "__shfl_up_sync", "__shfl_down_sync",
                                   "__shfl_xor_sync", "__ballot_sync",  "__any_sync",
                                   "__all_sync",      "__syncwarp"};  // in the order of `operation`
  return names[static_cast<int>(what)];
}

block& running_or_fail() {
  if (block* found = block::running(); found != nullptr) return *found;
  throw device_error("a lane's operation was called outside of any emulated kernel; launch one");
}

}  // namespace

device_error block::failure(unsigned number, const std::string& what) const {
  return device_error(fmt::format("{}: block {}, {} {}", kernel_.name, text(index_), name(number), what));
}

std::string block::name(unsigned number) const { return "lane " + text(place_[number]); }

std::string block::last_stop(unsigned number) const {
  const site stop = lanes_[number].stop;
  return stop.file == nullptr ? "" : " after " + text(stop);
}

// The call that a lane waits in, in its warp.
std::string block::doing(unsigned number) const {
  const request& wanted = lanes_[number].wanted;
  return fmt::format("calls {} with mask {:#010x} at {}", name_of(wanted.what), wanted.mask, text(wanted.at));
}

device_error block::closed_barrier(unsigned me) const {
  const std::string waits = "waits at __syncthreads at " + text(lanes_[me].stop);
  if (left_ > 0)
    return failure(
        me, fmt::format("{}, which {} left the kernel without reaching", waits, name(first_to_leave_)));
  return failure(me, fmt::format("{}, but {} waits at another, at {}", waits, name(barrier_lane_),
                                 text(lanes_[barrier_lane_].stop)));
}

device_error block::left_behind(unsigned me) const {
  return failure(me, fmt::format("left the kernel without reaching the __syncthreads at {}, where {} waits",
                                 text(lanes_[barrier_lane_].stop), name(barrier_lane_)));
}

void block::add_static_shared(std::size_t bytes) {
  static_bytes_ += bytes;
  if (static_bytes_ + dynamic_.bytes <= most_shared_bytes) return;
  throw failure(current.lane, fmt::format("uses {} bytes of static shared memory and the launch gave {} of "
                                          "dynamic; the most is {} together",
                                          static_bytes_, dynamic_.bytes, most_shared_bytes));
}

// No lane can continue. A barrier that not all lanes reach has been reported before: here, some lane waits
// for a lane of its warp that does not come. Reports lanes that have left first, then those at a barrier of
// the block: they are the cause where lanes wait for lanes that wait themselves.
device_error block::stuck() const {
  enum { left, at_barrier, elsewhere, nothing } worst = nothing;
  unsigned waiting = 0, missing = 0;
  for (unsigned me = 0; me < lanes_.size(); ++me) {
    const warp& in = warps_[me / 32];
    if ((in.waiting >> me % 32 & 1U) == 0) continue;
    for (std::uint32_t rest = lanes_[me].wanted.mask; rest != 0; rest &= rest - 1) {
      const int bit = std::countr_zero(rest);
      const auto found = (in.left >> bit & 1U) != 0      ? left
                         : (in.waiting >> bit & 1U) == 0 ? at_barrier
                                                         : elsewhere;
      const unsigned other = me / 32 * 32 + bit;
      if (found >= worst || (found == elsewhere && is_same(lanes_[me].wanted, lanes_[other].wanted)))
        continue;
      worst = found;
      waiting = me;
      missing = other;
    }
  }
  const std::string why = worst == left         ? "has left the kernel"
                          : worst == at_barrier ? "waits at __syncthreads at " + text(lanes_[missing].stop)
                                                : doing(missing);
  return failure(waiting, fmt::format("{} and waits for {}, which {}", doing(waiting), name(missing), why));
}

std::uint64_t exchange_in_warp(const request& wanted) { return running_or_fail().exchange(wanted); }
void wait_for_block(site at) { running_or_fail().wait_for_all(at); }
void add_static_shared(std::size_t bytes) { running_or_fail().add_static_shared(bytes); }
dynamic_memory& dynamic_shared_memory() { return running_or_fail().dynamic(); }

void fail_unwritten() {
  const block& in = running_or_fail();
  throw in.failure(current.lane,
                   "reads shared memory that no lane of its block has written" + in.last_stop(current.lane));
}

void fail_race(const char* does, const access& others, const char* did) {
  const block& in = running_or_fail();
  const std::string who = others.lanes < access::several_lanes ? in.name(others.lanes) : "more than one lane";
  throw in.failure(current.lane, fmt::format("{} shared memory that {} {}, with no barrier in between{}",
                                             does, who, did, in.last_stop(current.lane)));
}

void fail_index(std::ptrdiff_t i, std::size_t size) {
  const block& in = running_or_fail();
  throw in.failure(current.lane, fmt::format("takes element {} of a shared array of {}{}", i, size,
                                             in.last_stop(current.lane)));
}

void fail_two_types() {
  throw running_or_fail().failure(current.lane, "asks for dynamic shared memory of two types");
}

}  // namespace nz::emulator
