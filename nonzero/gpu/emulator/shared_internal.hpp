#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// Shared memory whose reads and writes are checked.

namespace nz::emulator {

/// The time on this OS thread, which moves on when a block begins, its lanes pass a barrier, or lanes of a
/// warp pass a __syncwarp.
struct clock {
  std::uint64_t now = 0;
  std::uint64_t block_began = 0;
  std::uint64_t barrier_passed = 0;       // by the block that runs; when it began if it passed none
  const std::uint64_t* synced = nullptr;  // a time for each lane of the block: its last __syncwarp
  std::uint32_t lane = 0;                 // that runs, numbered within its block
};
extern constinit thread_local clock current;

/// When a cell was written and read last, and by which lane.
struct cell_history {
  // Readers are a lane, several lanes of a warp (this plus the warp), or lanes of several warps.
  static constexpr std::uint16_t several_lanes = 1024, several_warps = 2048;

  std::uint64_t written = 0, read = 0;
  std::uint16_t writer = 0, reader = 0;
};

[[noreturn]] void fail_unwritten();
[[noreturn]] void fail_read_race(const cell_history& cell);
[[noreturn]] void fail_write_race(const cell_history& cell);

/// Whether what lane `other` did at `time` comes before what the running lane does now. Lanes that have both
/// passed a __syncwarp since may have passed different ones: then a race goes unreported.
inline bool is_ordered(std::uint32_t other, std::uint64_t time) {
  return time < current.barrier_passed || other == current.lane ||
         (other / 32 == current.lane / 32 && current.synced[other] > time &&
          current.synced[current.lane] > time);
}

/// The same for the readers of `cell`.
inline bool readers_are_ordered(const cell_history& cell) {
  if (cell.read < current.barrier_passed) return true;
  if (cell.reader < cell_history::several_lanes) return is_ordered(cell.reader, cell.read);
  return cell.reader == cell_history::several_lanes + current.lane / 32 &&
         current.synced[current.lane] > cell.read;
}

inline void on_read(cell_history& cell) {
  if (cell.written < current.block_began) fail_unwritten();
  if (!is_ordered(cell.writer, cell.written)) fail_read_race(cell);
  const auto me = static_cast<std::uint16_t>(current.lane);
  if (readers_are_ordered(cell)) {
    cell.reader = me;
  } else {
    const int readers_warp = cell.reader < cell_history::several_lanes
                                 ? cell.reader / 32
                                 : cell.reader - cell_history::several_lanes;
    cell.reader = static_cast<std::uint16_t>(
        readers_warp == me / 32 ? cell_history::several_lanes + readers_warp : cell_history::several_warps);
  }
  cell.read = current.now;
}

inline void on_write(cell_history& cell) {
  if (!readers_are_ordered(cell)) fail_write_race(cell);
  cell.written = current.now;
  cell.writer = static_cast<std::uint16_t>(current.lane);
}

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

/// A T in shared memory. A lane that reads it before any lane of its block wrote it, or with no barrier since
/// another lane wrote it, gets a device_error; so does one that writes it with no barrier since another lane
/// read it.
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

 private:
  T value_{};
  mutable emulator::cell_history history_;
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
