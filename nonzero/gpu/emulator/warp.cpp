#include <bit>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/block_internal.hpp>

namespace nz::emulator {
namespace {

bool is_shuffle(operation what) { return what <= operation::shuffle_xor; }

// The lane whose value `lane` gets, as CUDA defines it; itself where the source is outside of its segment.
unsigned source_of(const request& wanted, unsigned lane) {
  const auto width = static_cast<unsigned>(wanted.width);
  const unsigned first = lane & ~(width - 1);
  switch (wanted.what) {
    case operation::shuffle:
      return first + (wanted.by & (width - 1));
    case operation::shuffle_up:
      return lane >= first + wanted.by ? lane - wanted.by : lane;
    case operation::shuffle_down:
      return lane + wanted.by < first + width ? lane + wanted.by : lane;
    default:  // shuffle_xor, which may reach earlier segments but not later ones
      return (lane ^ wanted.by) < first + width ? lane ^ wanted.by : lane;
  }
}

}  // namespace

std::uint64_t block::exchange(const request& wanted) {
  const unsigned me = current.lane;
  warp& in = warps_[me / 32];
  lane& mine = lanes_[me];
  mine.stop = wanted.at;
  mine.wanted = wanted;
  check(me, wanted);
  in.waiting |= 1U << me % 32;
  if ((wanted.mask & ~in.waiting) == 0 && all_agree(wanted, me / 32 * 32)) {
    settle(wanted, me / 32 * 32);
    in.ready &= ~(1U << me % 32);  // continues at once
  } else {
    wait(me);
  }
  return mine.got;
}

void block::check(unsigned me, const request& wanted) const {
  const warp& in = warps_[me / 32];
  const std::uint32_t absent = wanted.mask & (~in.there | in.left);
  if ((wanted.mask >> me % 32 & 1U) == 0) {
    throw failure(me, fmt::format("{}, which does not name itself", doing(me)));
  }
  if (absent != 0) {
    const unsigned number = me / 32 * 32 + std::countr_zero(absent);
    throw failure(
        me, (in.there & absent & -absent) == 0
                ? fmt::format("{}, which names lane {} of a warp that has only {}", doing(me), number % 32,
                              std::popcount(in.there))
                : fmt::format("{}, which names {}, which has left the kernel", doing(me), name(number)));
  }
  if (!is_shuffle(wanted.what)) return;
  const auto width = static_cast<unsigned>(wanted.width);
  if (width > 32 || !std::has_single_bit(width)) {
    throw failure(me,
                  fmt::format("{} and width {}; that must be 1, 2, 4, 8, 16 or 32", doing(me), wanted.width));
  }
  if (wanted.what != operation::shuffle && wanted.by > 31) {
    throw failure(me, fmt::format("{} to move by {}; a warp has 32 lanes", doing(me),
                                  static_cast<std::int32_t>(wanted.by)));
  }
}

// Whether all lanes of the mask, which all wait in their warp, have made this call.
bool block::all_agree(const request& wanted, unsigned first) const {
  for (std::uint32_t rest = wanted.mask; rest != 0; rest &= rest - 1) {
    if (!is_same(wanted, lanes_[first + std::countr_zero(rest)].wanted)) return false;
  }
  return true;
}

// Sets the result of each lane of the mask and makes it ready. `first`: lane 0 of their warp.
void block::settle(const request& wanted, unsigned first) {
  std::uint32_t yes = 0;
  if (!is_shuffle(wanted.what)) {
    for (std::uint32_t rest = wanted.mask; rest != 0; rest &= rest - 1) {
      const int i = std::countr_zero(rest);
      yes |= static_cast<std::uint32_t>(lanes_[first + i].wanted.value) << i;
    }
    if (wanted.what == operation::any) yes = yes != 0 ? 1 : 0;
    if (wanted.what == operation::all) yes = yes == wanted.mask ? 1 : 0;
  }
  if (wanted.what == operation::sync) ++current.now;
  for (std::uint32_t rest = wanted.mask; rest != 0; rest &= rest - 1) {
    const unsigned number = first + std::countr_zero(rest);
    lanes_[number].got = is_shuffle(wanted.what) ? shuffled_value(number) : yes;
    if (wanted.what == operation::sync) synced_[number] = current.now;
  }
  warps_[first / 32].waiting &= ~wanted.mask;
  warps_[first / 32].ready |= wanted.mask;
}

std::uint64_t block::shuffled_value(unsigned number) const {
  const request& wanted = lanes_[number].wanted;
  const unsigned source = source_of(wanted, number % 32);
  if ((wanted.mask >> source & 1U) == 0) {
    throw failure(number, fmt::format("{} and reads from lane {} of its warp, which the mask does not name",
                                      doing(number), source));
  }
  return lanes_[number / 32 * 32 + source].wanted.value;
}

}  // namespace nz::emulator
