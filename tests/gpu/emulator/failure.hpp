#pragma once

#include <cstdint>
#include <string>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/emulator/language_internal.hpp>
#include <nonzero/gpu/emulator/launch_internal.hpp>

// Kernels that break a rule, and what the emulator says of it.

namespace nz::test {

__global__ void nothing() {}

template <class Body> __global__ void run_body(Body body) { body(threadIdx.x); }

/// What is said when each lane i of two blocks runs body(i), which breaks a rule. In `body`, the line after a
/// #line is where.
template <class Body>
std::string failure(unsigned lanes, Body body, std::uint64_t order = 0, std::size_t shared_bytes = 64) {
  try {
    emulator::launch("broken", {{1, 2}, lanes, shared_bytes}, {1, order}, run_body<Body>, body);
  } catch (const device_error& e) {
    emulator::launch("nothing", {1, 32}, {}, nothing);  // usable as before
    return e.what();
  }
  return "no failure";
}

/// Failures are in block 0 when blocks run in order, and a message begins so.
inline std::string about(const std::string& rest) { return "broken: block (0,0,0), lane " + rest; }

}  // namespace nz::test
