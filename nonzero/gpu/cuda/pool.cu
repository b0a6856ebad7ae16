#include <nonzero/formats/footprint.hpp>
#include <nonzero/gpu/cuda/pool.cuh>

namespace nz {
namespace {

bool has_pools(int number) {
  int answer = 0;
  require_success(cudaDeviceGetAttribute(&answer, cudaDevAttrMemoryPoolsSupported, number),
                  "cudaDeviceGetAttribute");
  return answer != 0;
}

[[noreturn]] void refuse(const char* call, cudaError_t status, std::size_t bytes) {
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    require_success(status, call,
                    " of " + format_bytes(bytes) + " with " + format_bytes(free) + " of " +
                        format_bytes(total) + " free");
  }
  require_success(status, call);
  throw device_error("CUDA: " + std::string(call) + " gave no memory");
}

/// What a noexcept caller does with an error: it is that of earlier work, reported where that is waited for.
void forget(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();
}

}  // namespace

// Pool and stream live as long as the card, which is as long as the program: they are not given back, as the
// driver may be gone when static objects are.
void cuda_pool::make() {
  if (!has_pools(number_)) return;
  const current_device current(number_);
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = number_;
  require_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  cudaMemPool_t made = nullptr;
  require_success(cudaMemPoolCreate(&made, &wanted), "cudaMemPoolCreate");
  std::uint64_t kept = memory_bytes_ / 4;  // others of this card, and of this program, need some too
  require_success(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept),
                  "cudaMemPoolSetAttribute");
  pool_ = made;
}

void* cuda_pool::allocate(std::size_t bytes) {
  std::call_once(is_made_, [&] { make(); });
  void* const memory = allocate_in(stream_, bytes);
  // Memory that another stream has given back may come with an order to wait for that stream's work.
  if (pool_ != nullptr) {
    const current_device current(number_);
    require_success(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  return memory;
}

void cuda_pool::release(void* memory) noexcept {
  if (pool_ == nullptr) return forget(cudaFree(memory));  // whatever the current device is
  int before = 0;
  forget(cudaGetDevice(&before));
  forget(cudaSetDevice(number_));
  forget(cudaDeviceSynchronize());
  forget(cudaFreeAsync(memory, stream_));
  forget(cudaSetDevice(before));
}

void* cuda_pool::allocate_in(cudaStream_t in, std::size_t bytes) {
  std::call_once(is_made_, [&] { make(); });
  const current_device current(number_);
  void* memory = nullptr;
  if (pool_ == nullptr) {
    const cudaError_t status = cudaMalloc(&memory, bytes);
    if (status != cudaSuccess) refuse("cudaMalloc", status, bytes);
    return memory;
  }
  cudaError_t status = cudaMallocFromPoolAsync(&memory, bytes, pool_, in);
  if (status == cudaErrorMemoryAllocation) {
    // What is free may be in segments that do not suit: back to the driver with it.
    cudaGetLastError();
    forget(cudaDeviceSynchronize());
    forget(cudaMemPoolTrimTo(pool_, 0));
    status = cudaMallocFromPoolAsync(&memory, bytes, pool_, in);
  }
  if (status != cudaSuccess) refuse("cudaMallocFromPoolAsync", status, bytes);
  return memory;
}

void cuda_pool::release_in(cudaStream_t in, void* memory) noexcept {
  forget(pool_ == nullptr ? cudaFree(memory) : cudaFreeAsync(memory, in));
}

std::uint64_t cuda_pool::used_bytes() const {
  std::uint64_t bytes = 0;
  if (pool_ != nullptr)
    require_success(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &bytes),
                    "cudaMemPoolGetAttribute");
  return bytes;
}

}  // namespace nz
