#pragma once

#include <functional>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <nonzero/core/device.hpp>

#include "tests/gpu/cuda/cuda_call.hpp"

inline cudaStream_t native(nz::stream in) { return static_cast<cudaStream_t>(in.handle); }

/// A graph of what a body launches.
struct captured {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;

  captured() = default;
  captured(const captured&) = delete;
  captured& operator=(const captured&) = delete;
  ~captured() {
    if (ready != nullptr) cudaGraphExecDestroy(ready);
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  void capture(nz::stream in, const std::function<void()>& body) {
    ASSERT_CUDA(cudaStreamBeginCapture(native(in), cudaStreamCaptureModeGlobal));
    EXPECT_NO_THROW(body());  // whatever happens, the capture must end
    ASSERT_CUDA(cudaStreamEndCapture(native(in), &graph));
    ASSERT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  }
};
