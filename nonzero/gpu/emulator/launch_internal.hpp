#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include <nonzero/gpu/emulator/grid_internal.hpp>

// Runs kernels on the CPU, lane by lane. A lane runs until it has to wait for others. A lane that spins until
// another lane of its block writes to memory spins for ever.

namespace nz::emulator {

struct launch_shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;  // dynamic
};

struct launch_options {
  int threads = 0;          // OS threads; 0: all, see core/threads.hpp
  std::uint64_t order = 0;  // 0: blocks, warps and lanes in order; else a seed that shuffles them
};

/// A kernel with its arguments, their types forgotten.
struct bound_kernel {
  const char* name;
  launch_shape shape;
  void (*call)(const void* bound);  // runs the lane that threadIdx and blockIdx name
  const void* bound;
};

/// The number at `place` of the permutation of [0, count) that the seed selects; seed 0: the usual order.
std::uint64_t in_order(std::uint64_t seed, std::uint64_t count, std::uint64_t place);

void run_blocks(const bound_kernel& kernel, const launch_options& options);

/// A grid of one dimension. Throws unsupported for more blocks than a GPU can have.
launch_shape line_of_blocks(const char* kernel, std::int64_t blocks, int threads);

/// Runs function(args...) once for each lane of the grid and returns when all are done. What a lane throws
/// ends the launch and is rethrown. Throws `device_error` for a launch that breaks CUDA's rules, with the
/// kernel's name, and for a kernel that does, with block and lane, also where the hardware would not report
/// it.
template <class... Params, class... Args>
void launch(const char* kernel, launch_shape shape, const launch_options& options,
            void (*function)(Params...), const Args&... args) {
  const std::tuple<Params...> parameters(args...);
  const auto call = [&] { std::apply(function, parameters); };
  run_blocks({kernel, shape, [](const void* bound) { (*static_cast<decltype(&call)>(bound))(); }, &call},
             options);
}

}  // namespace nz::emulator
