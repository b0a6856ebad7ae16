#pragma once

#include <string>

#include <cuda_runtime.h>

#include <nonzero/core/errors.hpp>

namespace nz {

/// Throws `device_error` with the CUDA call that failed, what it was about, and CUDA's message.
inline void require_success(cudaError_t status, const char* call, const std::string& about) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here, so no later call must find it
  throw device_error(std::string("CUDA: ") + call + about + ": " + cudaGetErrorString(status));
}

/// The same, and makes no string where all is well: every launch passes here.
inline void require_success(cudaError_t status, const char* call, const char* about = "") {
  if (status != cudaSuccess) require_success(status, call, std::string(about));
}

/// Makes a device the current one of this thread, and the one before it current again.
class current_device {
 public:
  explicit current_device(int number) {
    require_success(cudaGetDevice(&before_), "cudaGetDevice");
    if (number != before_) require_success(cudaSetDevice(number), "cudaSetDevice");
    has_changed_ = number != before_;
  }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;
  ~current_device() {
    if (has_changed_) cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool has_changed_ = false;
};

}  // namespace nz
