#pragma once

// Grids, blocks and lanes as CUDA names them, in the global namespace as nvcc has them.

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
};

// Set for the lane that runs on this OS thread; constinit, so that reading them costs no check.
extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;

inline constexpr int warpSize = 32;
