#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <cuda_runtime.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/cuda/scratch.cuh>

// A GPU, its memory, and how kernels are launched on it.
namespace nz {

/// Throws `device_error` with the CUDA call that failed, what it was about, and CUDA's message.
inline void require_success(cudaError_t status, const char* call, const std::string& about) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here, so no later call must find it
  throw device_error(std::string("CUDA: ") + call + about + ": " + cudaGetErrorString(status));
}

/// The same, without making a string on success: every launch calls it.
inline void require_success(cudaError_t status, const char* call, const char* about = "") {
  if (status != cudaSuccess) require_success(status, call, std::string(about));
}

/// Makes a device the current one of this thread, for as long as this lives.
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

/// While this lives, this thread may make calls that a capture elsewhere would make fail and that would end
/// it: for what concerns no stream of the program.
class any_capture_allowed {
 public:
  any_capture_allowed() { exchange(); }
  any_capture_allowed(const any_capture_allowed&) = delete;
  any_capture_allowed& operator=(const any_capture_allowed&) = delete;
  ~any_capture_allowed() { exchange(); }

 private:
  void exchange() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// The device of kind `cuda`: a GPU and what its driver says about it. Freed memory is kept in a pool, as
/// asking the driver each time takes longer than converting a small matrix. The pool is separate from the
/// program's other pools. Where the GPU has no pools, memory comes from the driver.
class cuda_gpu final : public device {
 public:
  cuda_gpu(int number, cuda_properties properties) : number_(number), properties_(std::move(properties)) {}

  int number() const { return number_; }
  const cuda_properties& properties() const { return properties_; }

  device_kind kind() const override { return device_kind::cuda; }
  std::string description() const override;
  std::uint64_t cache_bytes() const override { return properties_.cache_bytes; }
  std::uint64_t memory_bytes() const override { return properties_.memory_bytes; }
  /// Memory that any stream may use at once. Throws `device_error` with what is free where it is out of it.
  void* allocate(std::size_t bytes) override;
  /// Waits for all work of the GPU, as cudaFree does: another stream may have been using it. Where that
  /// fails, as while a graph is captured, which it ends, the memory is freed by a later call.
  void release(void* memory, std::size_t bytes) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes, stream in) override;
  void synchronize(stream in) override;
  double measure(int times, const std::function<void(stream)>& body, bool replayed) override;
  integer_facts examine(const std::int32_t* numbers, std::size_t count) override;
  integer_facts examine(const std::int64_t* numbers, std::size_t count) override;

  /// As allocate() and release(), for memory that only the work of one stream uses: neither waits.
  void* allocate_in(cudaStream_t in, std::size_t bytes);
  void release_in(cudaStream_t in, void* memory) noexcept;
  /// Waits until it is done, but for no stream of the program.
  void fill_with_zeros(void* memory, std::size_t bytes);
  /// A stream of the library's own, in which nothing is left to do when a call of the library returns.
  cudaStream_t own_stream();
  /// Lets a kernel have all the dynamic shared memory that the GPU has for a block.
  void allow_most_shared(const void* kernel, const char* name);
  /// The bytes of the pool that are in use, to look for leaks; 0 where the GPU has no pools.
  std::uint64_t used_bytes() const;

 private:
  void make_pool();
  void begin_use() {
    std::call_once(has_tried_pool_, [this] { make_pool(); });
  }
  bool free_now(void* memory) noexcept;
  void free_kept() noexcept;

  int number_;
  cuda_properties properties_;
  std::once_flag has_tried_pool_;  // the first allocation does: an unused GPU is left alone
  cudaMemPool_t pool_ = nullptr;   // null: the GPU has none
  cudaStream_t stream_ = nullptr;  // own_stream()
  std::mutex mutex_;               // of the two below
  std::vector<void*> kept_;        // released, but may be in use
  std::set<const void*> with_most_shared_;
};

/// Numbers in a GPU's memory that only the work of one stream uses.
template <class T> class cuda_temporary {
 public:
  cuda_temporary(cuda_gpu& on, cudaStream_t in, std::size_t size) : on_(on), in_(in) {
    if (size > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    if (size > 0) data_ = static_cast<T*>(on_.allocate_in(in_, size * sizeof(T)));
  }
  cuda_temporary(const cuda_temporary&) = delete;
  cuda_temporary& operator=(const cuda_temporary&) = delete;
  ~cuda_temporary() {
    if (data_ != nullptr) on_.release_in(in_, data_);
  }
  T* data() { return data_; }

 private:
  cuda_gpu& on_;
  cudaStream_t in_;
  T* data_ = nullptr;
};

/// The Queue of prepared_on_gpu.cuh on a GPU.
class cuda_queue {
 public:
  static constexpr device_kind kind = device_kind::cuda;
  static std::shared_ptr<device> default_device() { return cuda_device(); }
  using scratch_pool = cuda_scratch;

  cuda_queue(device& on, stream in)
      : on_(static_cast<cuda_gpu&>(on)), current_(on_.number()), in_(static_cast<cudaStream_t>(in.handle)) {}

  std::int64_t resident_threads() const {
    return std::int64_t{on_.properties().multiprocessors} * on_.properties().threads_per_multiprocessor;
  }

  int multiprocessors() const { return on_.properties().multiprocessors; }
  cudaStream_t native_stream() const { return in_; }
  std::size_t most_shared_bytes() const { return on_.properties().shared_bytes; }

  template <class... Params, class... Args>
  void launch(const char* name, std::int64_t blocks, int threads, void (*kernel)(Params...),
              const Args&... args) {
    start(name, blocks, threads, 0, false, kernel, args...);
  }
  template <class... Params, class... Args>
  void launch_with_shared(const char* name, std::int64_t blocks, int threads, std::size_t shared_bytes,
                          void (*kernel)(Params...), const Args&... args) {
    start(name, blocks, threads, shared_bytes, false, kernel, args...);
  }
  /// For a kernel that calls wait_for_prerequisite(): on GPUs that can, its blocks start while the launch
  /// before it ends, which saves a microsecond or two.
  template <class... Params, class... Args>
  void launch_dependent(const char* name, std::int64_t blocks, int threads, void (*kernel)(Params...),
                        const Args&... args) {
    start(name, blocks, threads, 0, on_.properties().can_overlap_launches, kernel, args...);
  }

  template <class T> cuda_temporary<T> temporary(std::size_t size) { return {on_, in_, size}; }

  // With CUB, for the types that primitives.cu lists.
  template <class T> void exclusive_sum(const T* in, T* out, std::int64_t n);
  template <class K, class T>
  void sort_pairs(const K* keys_in, K* keys_out, const T* values_in, T* values_out, std::int64_t n,
                  int bits = 8 * sizeof(K));
  template <class T> void sum(const T* in, T* out, std::int64_t n);
  template <class T> void largest(const T* in, T* out, std::int64_t n);

  template <class T> std::vector<T> read_array(const T* from, std::size_t size) {
    std::vector<T> out(size);
    if (size > 0) on_.copy(out.data(), from, size * sizeof(T), {in_});
    on_.synchronize({in_});
    return out;
  }
  template <class T> T read(const T* one) { return std::get<0>(read_all(one)); }
  template <class T, class... Others> std::tuple<T, Others...> read(const T* one, const Others*... others) {
    return read_all(one, others...);
  }

 private:
  template <class... Params, class... Args>
  void start(const char* name, std::int64_t blocks, int threads, std::size_t shared_bytes, bool is_early,
             void (*kernel)(Params...), const Args&... args) {
    if (blocks == 0) return;  // CUDA refuses an empty grid
    if (blocks > most_blocks)
      throw unsupported(std::string(name) + " needs a grid of " + std::to_string(blocks) +
                        " blocks, more than a GPU can have");
    cudaLaunchConfig_t shape{};
    shape.gridDim = dim3(static_cast<unsigned>(blocks));
    shape.blockDim = dim3(static_cast<unsigned>(threads));
    shape.stream = in_;
    shape.dynamicSmemBytes = shared_bytes;
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    shape.attrs = &early;
    shape.numAttrs = is_early ? 1 : 0;
    if (shared_bytes > unasked_shared_bytes)
      on_.allow_most_shared(reinterpret_cast<const void*>(kernel), name);
    const cudaError_t status = cudaLaunchKernelEx(&shape, kernel, static_cast<Params>(args)...);
    require_success(status, "launching ", name);
  }

  template <class... T> std::tuple<T...> read_all(const T*... from) {
    std::tuple<T...> out;
    std::apply([&](T&... to) { (on_.copy(&to, from, sizeof(T), {in_}), ...); }, out);
    on_.synchronize({in_});
    return out;
  }

  static constexpr std::int64_t most_blocks = 2147483647;
  // Any kernel may have 48 KiB, static and dynamic together; more dynamic bytes than these need an attribute.
  static constexpr std::size_t unasked_shared_bytes = 32 * 1024;
  cuda_gpu& on_;
  current_device current_;
  cudaStream_t in_;
};

}  // namespace nz
