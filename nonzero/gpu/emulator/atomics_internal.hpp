#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <type_traits>

// CUDA's atomics on global memory. Blocks run on several OS threads at once, so these are atomic indeed; like
// CUDA's, they order nothing else. Each returns the value that was there before.

namespace nz::emulator {

template <class T, class... Choices>
concept one_of = (std::same_as<T, Choices> || ...);

template <class T, class Change> T change_atomically(T* address, Change change) {
  const std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(old, change(old), std::memory_order_relaxed)) {
  }
  return old;
}

}  // namespace nz::emulator

template <nz::emulator::one_of<int, unsigned, unsigned long long, float, double> T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}

template <nz::emulator::one_of<int, unsigned, unsigned long long, float> T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).exchange(value, std::memory_order_relaxed);
}

template <nz::emulator::one_of<int, unsigned, unsigned long long> T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value, std::memory_order_relaxed);
  return expected;
}

/// Counts 0, 1 … limit, 0, 1 …
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return nz::emulator::change_atomically(address, [=](unsigned old) { return old >= limit ? 0 : old + 1; });
}

template <nz::emulator::one_of<int, unsigned> T> T atomicMax(T* address, std::type_identity_t<T> value) {
  return nz::emulator::change_atomically(address, [=](T old) { return std::max(old, value); });
}

template <nz::emulator::one_of<int, unsigned> T> T atomicMin(T* address, std::type_identity_t<T> value) {
  return nz::emulator::change_atomically(address, [=](T old) { return std::min(old, value); });
}
