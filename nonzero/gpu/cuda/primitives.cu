#include <cstdint>

#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <nonzero/gpu/cuda/gpu.cuh>

// Scans, sorts and reductions for conversions, with CUB. They are compiled here once, for the types at the
// end, as CUB takes long to compile.
namespace nz {
namespace {

/// Calls work(memory, bytes) twice, as CUB wants: first to find out how much memory it needs.
template <class Work> void with_work_space(cuda_gpu& on, cudaStream_t in, const char* name, Work work) {
  std::size_t bytes = 0;
  require_success(work(nullptr, bytes), name);
  cuda_temporary<std::byte> memory(on, in, bytes > 0 ? bytes : 1);  // null would ask again
  require_success(work(memory.data(), bytes), name);
}

constexpr int scan_threads = 1024, scanned_by_thread = 8;
/// Up to so many numbers are summed by one block, sooner than CUB's launches begin.
constexpr std::int64_t most_in_block = 2 * scan_threads * scanned_by_thread;

template <class T>
__global__ void __launch_bounds__(scan_threads) scan_in_block_kernel(const T* in, T* out, int n) {
  using scan = cub::BlockScan<T, scan_threads>;
  __shared__ typename scan::TempStorage shared;
  T before = 0;
  for (int first = 0; first < n; first += scan_threads * scanned_by_thread) {
    const int at = first + static_cast<int>(threadIdx.x) * scanned_by_thread;
    T mine[scanned_by_thread];
    for (int q = 0; q < scanned_by_thread; ++q) mine[q] = at + q < n ? in[at + q] : T{0};
    T all;
    scan(shared).ExclusiveSum(mine, mine, all);
    for (int q = 0; q < scanned_by_thread; ++q)
      if (at + q < n) out[at + q] = before + mine[q];
    before += all;
    __syncthreads();  // before `shared` is used again
  }
}

}  // namespace

template <class T> void cuda_queue::exclusive_sum(const T* in, T* out, std::int64_t n) {
  if (n <= most_in_block)
    return launch("exclusive_sum", n > 0 ? 1 : 0, scan_threads, scan_in_block_kernel<T>, in, out,
                  static_cast<int>(n));
  with_work_space(on_, in_, "cub::DeviceScan::ExclusiveSum", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, n, in_);
  });
}

template <class K, class T>
void cuda_queue::sort_pairs(const K* keys_in, K* keys_out, const T* values_in, T* values_out, std::int64_t n,
                            int bits) {
  with_work_space(on_, in_, "cub::DeviceRadixSort::SortPairs", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys_in, keys_out, values_in, values_out, n, 0,
                                           bits, in_);
  });
}

template <class T> void cuda_queue::sum(const T* in, T* out, std::int64_t n) {
  with_work_space(on_, in_, "cub::DeviceReduce::Sum", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(memory, bytes, in, out, n, in_);
  });
}

template <class T> void cuda_queue::largest(const T* in, T* out, std::int64_t n) {
  with_work_space(on_, in_, "cub::DeviceReduce::Max", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceReduce::Max(memory, bytes, in, out, n, in_);
  });
}

template void cuda_queue::exclusive_sum(const std::int32_t*, std::int32_t*, std::int64_t);
template void cuda_queue::exclusive_sum(const std::int64_t*, std::int64_t*, std::int64_t);
template void cuda_queue::sort_pairs(const std::uint32_t*, std::uint32_t*, const std::int32_t*, std::int32_t*,
                                     std::int64_t, int);
template void cuda_queue::sort_pairs(const std::uint64_t*, std::uint64_t*, const std::int32_t*, std::int32_t*,
                                     std::int64_t, int);
template void cuda_queue::sum(const std::int32_t*, std::int32_t*, std::int64_t);
template void cuda_queue::sum(const std::int64_t*, std::int64_t*, std::int64_t);
template void cuda_queue::largest(const std::int32_t*, std::int32_t*, std::int64_t);
template void cuda_queue::largest(const std::int64_t*, std::int64_t*, std::int64_t);

}  // namespace nz
