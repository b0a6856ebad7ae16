#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include <nonzero/gpu/cuda/call.cuh>

namespace nz {

/// A card's memory, kept at hand between uses: asking the driver each time takes longer than converting a
/// small matrix. A pool of its own, so that the program's other pools stay as they are. Where the card has no
/// pools it is the driver's memory after all.
class cuda_pool {
 public:
  cuda_pool(int number, std::uint64_t memory_bytes) : number_(number), memory_bytes_(memory_bytes) {}
  cuda_pool(const cuda_pool&) = delete;
  cuda_pool& operator=(const cuda_pool&) = delete;

  /// Memory that any stream may use at once. Throws `device_error` with what is free where it is out of it.
  void* allocate(std::size_t bytes);
  /// Waits for all work of the card, as cudaFree does: another stream may have been using it.
  void release(void* memory) noexcept;

  /// The same for what only the work of one stream uses; without waiting.
  void* allocate_in(cudaStream_t in, std::size_t bytes);
  void release_in(cudaStream_t in, void* memory) noexcept;

  /// What is in use, for those who look for leaks; 0 where the card has no pools.
  std::uint64_t used_bytes() const;

 private:
  void make();

  int number_;
  std::uint64_t memory_bytes_;
  std::once_flag is_made_;         // by the first that asks for memory: a card that nobody uses is left alone
  cudaMemPool_t pool_ = nullptr;   // null: the card has none
  cudaStream_t stream_ = nullptr;  // has nothing but allocate() and release() in it, and so is never busy
};

}  // namespace nz
