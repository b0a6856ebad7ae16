#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include <nonzero/gpu/device_formats.cuh>
#include <nonzero/gpu/warp.cuh>

// The values of a matrix's entries: their bits, whether single precision holds them, and whether all are
// equal.
namespace nz::gpu {

/// Lossless conversions compare bits, as formats/conversion_internal.hpp does on the host.
template <class V> __device__ inline unsigned long long bits_of_value(V value) {
  return std::bit_cast<bits_of<V>>(value);
}

/// Spreads numbers evenly over the upper bits: the multiplier is 2^64 over the golden ratio.
__device__ inline std::uint64_t scatter(std::uint64_t number) { return number * 0x9e3779b97f4a7c15U; }

/// The value in single precision, and whether that is exact. NaN by its bits: a GPU converts every NaN to
/// the same one.
template <class V> __device__ inline float to_single(V value, bool& is_exact) {
  if constexpr (sizeof(V) == sizeof(float)) {
    is_exact = true;
    return value;
  } else {
    const std::uint64_t bits = bits_of_value(value), quiet = std::uint64_t{1} << 51, lost = (1U << 29) - 1;
    if (value != value) {
      is_exact = (bits & quiet) != 0 && (bits & lost) == 0;
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63 << 31) | 0x7f800000U |
                                  (static_cast<std::uint32_t>(bits >> 29) & 0x7fffffU));
    }
    const auto single = static_cast<float>(value);
    is_exact = bits_of_value(static_cast<V>(single)) == bits;
    return single;
  }
}

/// Whether single precision does not hold a value.
struct is_no_float {
  template <class V> __device__ bool operator()(V value, V) const {
    return static_cast<V>(static_cast<float>(value)) != value;
  }
};
/// Whether a value differs from the first by a bit.
struct is_not_first {
  template <class V> __device__ bool operator()(V value, V first) const {
    return bits_of_value(value) != bits_of_value(first);
  }
};

/// For each warp 1 where it found a value for which test(value, first value) is true; it then stops.
template <class V, class Test>
__global__ void find_any_kernel(offset nnz, const V* __restrict__ val, Test test,
                                std::int32_t* __restrict__ found) {
  bool is_found = false;
  for (std::int64_t k = thread_in_grid(); k < nnz && !is_found; k += std::int64_t{gridDim.x} * blockDim.x)
    is_found = test(val[k], val[0]);
  is_found = __any_sync(full_warp, is_found) != 0;
  if (threadIdx.x % 32 == 0) found[thread_in_grid() / 32] = is_found ? 1 : 0;
}

template <class Queue, class V, class Test>
bool is_any_value(Queue& queue, offset nnz, const V* val, Test test) {
  const std::int64_t blocks = queue.resident_threads() / threads_per_block,
                     warps = blocks * (threads_per_block / 32);
  auto found = queue.template temporary<std::int32_t>(static_cast<std::size_t>(warps));
  auto any = queue.template temporary<std::int32_t>(1);
  queue.launch("find_any", blocks, threads_per_block, find_any_kernel<V, Test>, nnz, val, test, found.data());
  queue.largest(found.data(), any.data(), warps);
  return queue.read(any.data()) != 0;
}

/// The values of entries. Those of a graph are all equal: then none is read.
template <class A> struct entry_values {
  const A* each;  // null: all are equal
  A all;
};

/// Those of an array, unless all are equal.
template <class A> entry_values<A> values_of(const A* each, const std::optional<A>& one_value) {
  return one_value ? entry_values<A>{nullptr, *one_value} : entry_values<A>{each, A{0}};
}

/// The value that all entries have.
template <class Queue, class A, class Offset>
std::optional<A> find_one_value(Queue& queue, const csr_view<A, Offset>& a) {
  constexpr offset fewest = 1 << 14;  // reading fewer costs less than this test
  if (a.nnz() < fewest || is_any_value(queue, a.nnz(), a.val.data(), is_not_first{})) return std::nullopt;
  return queue.read(a.val.data());
}

/// CSR, for kernels that read no values where all are equal.
template <class A, class Offset> struct csr_or_one_value : shared_csr<A, Offset> {
  std::optional<A> one_value;

  template <class Queue>
  csr_or_one_value(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options&)
      : shared_csr<A, Offset>(a), one_value(find_one_value(queue, this->view())) {}
  entry_values<A> values() const { return values_of(this->val.data(), one_value); }
  std::string encodings() const { return one_value ? "one value for all entries" : std::string{}; }
};

}  // namespace nz::gpu
