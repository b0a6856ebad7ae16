#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// Shared memory whose reads and writes are checked.

namespace nz::emulator {

/// The time on this OS thread. It advances when a block begins, when its lanes pass a barrier, and when lanes
/// of a warp pass a __syncwarp.
struct clock {
  std::uint64_t now = 0;
  std::uint64_t block_began = 0;
  std::uint64_t barrier_passed = 0;       // by the block that runs; when it began if it passed none
  const std::uint64_t* synced = nullptr;  // a time for each lane of the block: its last __syncwarp
  std::uint32_t lane = 0;                 // that runs, numbered within its block
};
extern constinit thread_local clock current;

/// Which lanes did something to a cell last, and when.
struct access {
  // `lanes` is one lane, several lanes of a warp (several_lanes plus the warp), or lanes of several
  // warps.
  static constexpr std::uint16_t several_lanes = 1024, several_warps = 2048;

  std::uint64_t time = 0;
  std::uint16_t lanes = 0;
};

struct cell_history {
  access written, read;  // plainly
  access changed;        // by atomics
};

[[noreturn]] void fail_unwritten();
/// What the running lane `does` to a cell races with what `others` did to it before.
[[noreturn]] void fail_race(const char* does, const access& others, const char* did);

/// Whether `past` comes before what the running lane does now. Lanes that have both passed a __syncwarp since
/// may have passed different ones: then a race goes unreported.
inline bool is_ordered(const access& past) {
  if (past.time < current.barrier_passed || past.lanes == current.lane) return true;
  if (current.synced[current.lane] <= past.time) return false;
  if (past.lanes >= access::several_lanes) return past.lanes == access::several_lanes + current.lane / 32;
  return past.lanes / 32 == current.lane / 32 && current.synced[past.lanes] > past.time;
}

/// Adds the running lane to those that did this since the last barrier.
inline void note(access& done) {
  const auto me = static_cast<std::uint16_t>(current.lane);
  if (is_ordered(done)) {
    done.lanes = me;
  } else {
    const int their_warp =
        done.lanes < access::several_lanes ? done.lanes / 32 : done.lanes - access::several_lanes;
    done.lanes = static_cast<std::uint16_t>(their_warp == me / 32 ? access::several_lanes + their_warp
                                                                  : access::several_warps);
  }
  done.time = current.now;
}

inline void on_read(cell_history& cell) {
  if (cell.written.time < current.block_began) fail_unwritten();
  if (!is_ordered(cell.written)) fail_race("reads", cell.written, "wrote");
  if (!is_ordered(cell.changed)) fail_race("reads", cell.changed, "changed atomically");
  note(cell.read);
}

inline void on_write(cell_history& cell) {
  if (!is_ordered(cell.written)) fail_race("writes", cell.written, "wrote");
  if (!is_ordered(cell.read)) fail_race("writes", cell.read, "read");
  if (!is_ordered(cell.changed)) fail_race("writes", cell.changed, "changed atomically");
  note(cell.written);
}

/// Atomics race with plain reads and writes, not with each other.
inline void on_change(cell_history& cell) {
  if (cell.written.time < current.block_began) fail_unwritten();
  if (!is_ordered(cell.written)) fail_race("changes atomically", cell.written, "wrote");
  if (!is_ordered(cell.read)) fail_race("changes atomically", cell.read, "read");
  note(cell.changed);
}

/// Static and dynamic together, for a block: what every GPU has. Many have more, for kernels that ask for
/// it.
inline constexpr std::size_t most_shared_bytes = 48 * 1024;

/// Counts the bytes of an array that the running block uses for the first time.
void add_static_shared(std::size_t bytes);
[[noreturn]] void fail_index(std::ptrdiff_t i, std::size_t size);

/// What a lane finds as dynamic shared memory: one allocation of exactly the bytes launched, so that
/// AddressSanitizer knows its end.
struct dynamic_memory {
  std::size_t bytes = 0;       // as launched
  const void* type = nullptr;  // the address of type_tag<T>, once a lane asked for cells of T
  std::shared_ptr<void> cells;
};
dynamic_memory& dynamic_shared_memory();
[[noreturn]] void fail_two_types();

template <class T> inline constexpr char type_tag = 0;

}  // namespace nz::emulator

namespace nz::gpu {

/// A T in shared memory. A lane that reads it before any lane of its block wrote it gets a device_error; so
/// do lanes of which one writes it and another reads or writes it, with no barrier in between.
template <class T> class shared {
 public:
  constexpr shared() = default;
  shared(const shared&) = delete;  // `auto v = cell` would copy the cell, not the value
  ~shared() = default;

  operator T() const {
    emulator::on_read(history_);
    return value_;
  }
  shared& operator=(T value) {
    emulator::on_write(history_);
    value_ = value;
    return *this;
  }
  shared& operator=(const shared& other) {
    return *this = static_cast<T>(other);
  }  // NOLINT(bugprone-unhandled-self-assignment)
  shared& operator+=(T value) { return *this = static_cast<T>(static_cast<T>(*this) + value); }

  /// Makes the value change(value) and returns what it was: for the atomics. Lanes of a block run on one OS
  /// thread and do not wait in here, so this needs no atomic instruction.
  template <class Change> T change_atomically(Change change) {
    emulator::on_change(history_);
    const T old = value_;
    value_ = change(old);
    return old;
  }

 private:
  T value_{};
  mutable emulator::cell_history history_;
};

/// N cells in static shared memory. An index outside of them is a device_error, which AddressSanitizer would
/// not see: it puts no guards around what is thread_local. A pointer taken from it, &array[0], is not
/// checked.
template <class T, std::size_t N>
requires(N > 0 && N <= emulator::most_shared_bytes / sizeof(T)) class shared_array {
 public:
  shared<T>& operator[](std::ptrdiff_t i) {
    if (used_ < emulator::current.block_began) {
      used_ = emulator::current.now;
      emulator::add_static_shared(N * sizeof(T));
    }
    if (i < 0 || static_cast<std::size_t>(i) >= N) emulator::fail_index(i, N);
    return cells_[i];
  }

 private:
  shared<T> cells_[N];
  std::uint64_t used_ = 0;  // when the last block to use it began to
};

/// The block's dynamic shared memory: as many cells as Ts fit in the bytes launched. One type per kernel.
template <class T> shared<T>* dynamic_shared() {
  emulator::dynamic_memory& memory = emulator::dynamic_shared_memory();
  if (memory.type == nullptr) {
    memory.cells = std::make_unique<shared<T>[]>(memory.bytes / sizeof(T));
    memory.type = &emulator::type_tag<T>;
  }
  if (memory.type != &emulator::type_tag<T>) emulator::fail_two_types();
  return static_cast<shared<T>*>(memory.cells.get());
}

}  // namespace nz::gpu
