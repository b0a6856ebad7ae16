#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <type_traits>

#include <nonzero/gpu/emulator/shared_internal.hpp>

// CUDA's atomics on global memory, a T, and on shared memory, a shared<T>. Blocks run on several OS threads
// at once, so those on global memory are real atomics; like CUDA's, they order nothing else. Each returns the
// value that it replaced.

namespace nz::emulator {

template <class Cell> struct value_in { using type = Cell; };
template <class T> struct value_in<nz::gpu::shared<T>> { using type = T; };
template <class Cell> using value_of = typename value_in<Cell>::type;

template <class Cell, class... Choices>
concept holds_one_of = (std::same_as<value_of<Cell>, Choices> || ...);

template <class T, class Change> T change_atomically(T* address, Change change) {
  const std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, change(old), std::memory_order_relaxed)) {
  }
  return old;
}

template <class T, class Change> T change_atomically(nz::gpu::shared<T>* address, Change change) {
  return address->change_atomically(change);
}

/// a + b, where integers wrap round as the GPU's do.
template <class T> T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}

}  // namespace nz::emulator

template <nz::emulator::holds_one_of<int, unsigned, unsigned long long, float, double> Cell>
auto atomicAdd(Cell* address, nz::emulator::value_of<Cell> value) {
  return nz::emulator::change_atomically(address, [=](auto old) { return nz::emulator::add(old, value); });
}

template <nz::emulator::holds_one_of<int, unsigned, unsigned long long, float> Cell>
auto atomicExch(Cell* address, nz::emulator::value_of<Cell> value) {
  return nz::emulator::change_atomically(address, [=](auto) { return value; });
}

template <nz::emulator::holds_one_of<int, unsigned, unsigned long long> Cell>
auto atomicCAS(Cell* address, nz::emulator::value_of<Cell> expected, nz::emulator::value_of<Cell> value) {
  return nz::emulator::change_atomically(address, [=](auto old) { return old == expected ? value : old; });
}

/// Counts 0, 1 … limit, 0, 1 …
template <nz::emulator::holds_one_of<unsigned> Cell> unsigned atomicInc(Cell* address, unsigned limit) {
  return nz::emulator::change_atomically(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

template <nz::emulator::holds_one_of<int, unsigned> Cell>
auto atomicMax(Cell* address, nz::emulator::value_of<Cell> value) {
  return nz::emulator::change_atomically(address, [=](auto old) { return std::max(old, value); });
}

template <nz::emulator::holds_one_of<int, unsigned> Cell>
auto atomicMin(Cell* address, nz::emulator::value_of<Cell> value) {
  return nz::emulator::change_atomically(address, [=](auto old) { return std::min(old, value); });
}
