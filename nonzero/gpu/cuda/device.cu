#include <algorithm>
#include <new>
#include <utility>

#include <nonzero/formats/footprint.hpp>
#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/integer_facts.cuh>

namespace nz {
namespace {

cudaStream_t native(stream in) { return static_cast<cudaStream_t>(in.handle); }

/// Whether launches may overlap: only what is compiled for compute capability 9.0 or later waits for the
/// launches before, and only CUDA 12.3 can capture such launches.
bool can_overlap_launches(const cudaDeviceProp& gpu) {
  constexpr int compiled_for[] = {__CUDA_ARCH_LIST__}, first_that_waits = 900, first_that_captures = 12030;
  int driver = 0;
  require_success(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const int capability = 100 * gpu.major + 10 * gpu.minor;
  const bool waits = std::ranges::any_of(
      compiled_for, [=](int one) { return first_that_waits <= one && one <= capability; });
  return waits && std::min(driver, CUDART_VERSION) >= first_that_captures;
}

cuda_properties properties_of(int number) {
  cudaDeviceProp found{};
  require_success(cudaGetDeviceProperties(&found, number), "cudaGetDeviceProperties");
  return {found.name,
          found.totalGlobalMem,
          static_cast<std::uint64_t>(found.l2CacheSize),
          found.major,
          found.minor,
          found.multiProcessorCount,
          found.maxThreadsPerMultiProcessor,
          found.sharedMemPerBlockOptin,
          can_overlap_launches(found)};
}

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

/// For noexcept functions: an error here is one of earlier work, and is reported where that is waited for.
void forget(cudaError_t status) {
  if (status != cudaSuccess) cudaGetLastError();
}

class event {
 public:
  event() { require_success(cudaEventCreate(&handle_), "cudaEventCreate"); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(handle_); }
  operator cudaEvent_t() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Some calls of a body as a graph: the GPU goes from one to the next without waiting for the host. A launch
/// by the host takes longer than a small multiply.
class recorded_calls {
 public:
  /// Records nothing where there are few calls, or where the body cannot be recorded.
  recorded_calls(int wanted, const std::function<void(stream)>& body) {
    constexpr int fewest = 32, most = 64;
    if (wanted < fewest) return;
    const int calls = std::min(wanted, most);
    capture made;
    if (!made.is_on) return;
    try {
      for (int i = 0; i < calls; ++i) body({made.in});
    } catch (const error&) {
      return;
    }
    if (made.end() && cudaGraphInstantiate(&ready_, made.graph, 0) == cudaSuccess) calls_ = calls;
  }
  recorded_calls(const recorded_calls&) = delete;
  recorded_calls& operator=(const recorded_calls&) = delete;
  ~recorded_calls() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
  }

  int calls() const { return calls_; }
  void launch(cudaStream_t in) const { require_success(cudaGraphLaunch(ready_, in), "cudaGraphLaunch"); }

 private:
  /// A stream that is capturing, and what it has captured.
  struct capture {
    cudaStream_t in = nullptr;
    cudaGraph_t graph = nullptr;
    bool is_on = false;

    capture() {
      if (cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking) != cudaSuccess) return;
      is_on = cudaStreamBeginCapture(in, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    }
    capture(const capture&) = delete;
    capture& operator=(const capture&) = delete;
    ~capture() {
      end();
      if (graph != nullptr) cudaGraphDestroy(graph);
      if (in != nullptr) cudaStreamDestroy(in);
      cudaGetLastError();  // what cannot be recorded is called instead: clear the error for later calls
    }
    bool end() {
      const bool was_on = std::exchange(is_on, false);
      return was_on && cudaStreamEndCapture(in, &graph) == cudaSuccess && graph != nullptr;
    }
  };

  cudaGraphExec_t ready_ = nullptr;
  int calls_ = 0;
};

}  // namespace

std::vector<cuda_properties> cuda_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    cudaGetLastError();  // having no GPU is not an error: clear it for later calls
    return {};
  }
  require_success(status, "cudaGetDeviceCount");
  std::vector<cuda_properties> devices;
  for (int i = 0; i < count; ++i) devices.push_back(properties_of(i));
  return devices;
}

std::shared_ptr<device> cuda_device(int number) {
  // In the order of their numbers.
  static const std::vector<std::shared_ptr<cuda_gpu>> gpus = [] {
    std::vector<std::shared_ptr<cuda_gpu>> all;
    for (cuda_properties& found : cuda_devices())
      all.push_back(std::make_shared<cuda_gpu>(static_cast<int>(all.size()), std::move(found)));
    return all;
  }();
  if (gpus.empty())
    throw device_error(
        "there is no CUDA device: no NVIDIA GPU, or no driver that knows the CUDA this was built with");
  if (number < 0 || static_cast<std::size_t>(number) >= gpus.size())
    throw device_error("there is no CUDA device " + std::to_string(number) + "; the last is " +
                       std::to_string(gpus.size() - 1));
  return gpus[static_cast<std::size_t>(number)];
}

// Pool and stream live as long as the program. They are never destroyed: the driver may be gone by the time
// static objects are.
void cuda_gpu::make_pool() {
  const current_device current(number_);
  const any_capture_allowed allowed;
  if (stream_ == nullptr)
    require_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  if (!has_pools(number_)) return;
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = number_;
  cudaMemPool_t made = nullptr;
  require_success(cudaMemPoolCreate(&made, &wanted), "cudaMemPoolCreate");
  std::uint64_t kept = properties_.memory_bytes / 4;  // leave the rest for other users of the GPU
  require_success(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept),
                  "cudaMemPoolSetAttribute");
  pool_ = made;
}

cudaStream_t cuda_gpu::own_stream() {
  begin_use();
  return stream_;
}

void* cuda_gpu::allocate(std::size_t bytes) {
  const any_capture_allowed allowed;
  void* const memory = allocate_in(own_stream(), bytes);
  // Memory that another stream has released may become usable only after that stream's work.
  if (pool_ != nullptr) {
    const current_device current(number_);
    require_success(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  return memory;
}

void cuda_gpu::release(void* memory, std::size_t) noexcept {
  int before = 0;
  forget(cudaGetDevice(&before));
  forget(cudaSetDevice(number_));
  {
    const any_capture_allowed allowed;
    free_kept();
    if (!free_now(memory)) {
      const std::lock_guard lock(mutex_);
      try {
        kept_.push_back(memory);
      } catch (const std::bad_alloc&) {  // lost, which is better than freed while it is in use
      }
    }
  }
  forget(cudaSetDevice(before));
}

/// Whether nothing can be using the memory any more; it is freed then.
bool cuda_gpu::free_now(void* memory) noexcept {
  const cudaError_t status = pool_ == nullptr ? cudaFree(memory) : cudaDeviceSynchronize();
  forget(status);
  if (status != cudaSuccess) return false;
  if (pool_ != nullptr) forget(cudaFreeAsync(memory, stream_));
  return true;
}

/// Frees what could not be freed before.
void cuda_gpu::free_kept() noexcept {
  const std::lock_guard lock(mutex_);
  while (!kept_.empty() && free_now(kept_.back())) kept_.pop_back();
}

void* cuda_gpu::allocate_in(cudaStream_t in, std::size_t bytes) {
  begin_use();
  const current_device current(number_);
  const auto ask = [&](void*& memory) {
    return pool_ == nullptr ? cudaMalloc(&memory, bytes) : cudaMallocFromPoolAsync(&memory, bytes, pool_, in);
  };
  void* memory = nullptr;
  cudaError_t status = ask(memory);
  if (status == cudaErrorMemoryAllocation) {
    // What was released may be in use no more, and the free memory of the pool may be fragmented: give it
    // back to the driver and ask again.
    cudaGetLastError();
    const any_capture_allowed allowed;
    free_kept();
    if (pool_ != nullptr) {
      forget(cudaDeviceSynchronize());
      forget(cudaMemPoolTrimTo(pool_, 0));
    }
    status = ask(memory);
  }
  if (status != cudaSuccess)
    refuse(pool_ == nullptr ? "cudaMalloc" : "cudaMallocFromPoolAsync", status, bytes);
  return memory;
}

void cuda_gpu::fill_with_zeros(void* memory, std::size_t bytes) {
  const current_device current(number_);
  const any_capture_allowed allowed;
  require_success(cudaMemsetAsync(memory, 0, bytes, own_stream()), "cudaMemsetAsync");
  require_success(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

// All that there is, once: two threads that each asked for what they need could take it from each other.
void cuda_gpu::allow_most_shared(const void* kernel, const char* name) {
  const std::lock_guard lock(mutex_);
  if (with_most_shared_.count(kernel) > 0) return;
  cudaFuncAttributes found{};
  require_success(cudaFuncGetAttributes(&found, kernel), "cudaFuncGetAttributes for ", name);
  const int most = static_cast<int>(properties_.shared_bytes - found.sharedSizeBytes);
  require_success(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
                  "cudaFuncSetAttribute for ", name);
  with_most_shared_.insert(kernel);
}

void cuda_gpu::release_in(cudaStream_t in, void* memory) noexcept {
  forget(pool_ == nullptr ? cudaFree(memory) : cudaFreeAsync(memory, in));
}

std::uint64_t cuda_gpu::used_bytes() const {
  std::uint64_t bytes = 0;
  const any_capture_allowed allowed;
  if (pool_ != nullptr)
    require_success(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &bytes),
                    "cudaMemPoolGetAttribute");
  return bytes;
}

std::string cuda_gpu::description() const {
  return properties_.name + ", " + std::to_string(properties_.multiprocessors) + " multiprocessors, " +
         format_bytes(properties_.memory_bytes);
}

void cuda_gpu::copy(void* to, const void* from, std::size_t bytes, stream in) {
  const current_device current(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(in)), "cudaMemcpyAsync");
}

void cuda_gpu::synchronize(stream in) {
  const current_device current(number_);
  require_success(cudaStreamSynchronize(native(in)), "cudaStreamSynchronize");
}

double cuda_gpu::measure(int times, const std::function<void(stream)>& body, bool replayed) {
  const current_device current(number_);
  const event start, stop;
  const stream in{};
  const recorded_calls replay(replayed ? times : 0, body);
  require_success(cudaEventRecord(start, native(in)), "cudaEventRecord");
  if (replay.calls() > 0)
    for (int i = 0; i < times / replay.calls(); ++i) replay.launch(native(in));
  else
    for (int i = 0; i < times; ++i) body(in);
  require_success(cudaEventRecord(stop, native(in)), "cudaEventRecord");
  require_success(cudaEventSynchronize(stop), "cudaEventSynchronize");
  float milliseconds = 0;
  require_success(cudaEventElapsedTime(&milliseconds, start, stop), "cudaEventElapsedTime");
  const int counted = replay.calls() > 0 ? times / replay.calls() * replay.calls() : times;
  return milliseconds * 1e-3 * times / counted;
}

integer_facts cuda_gpu::examine(const std::int32_t* numbers, std::size_t count) {
  const any_capture_allowed allowed;
  return gpu::examine<cuda_queue>(*this, numbers, count, {own_stream()});
}

integer_facts cuda_gpu::examine(const std::int64_t* numbers, std::size_t count) {
  const any_capture_allowed allowed;
  return gpu::examine<cuda_queue>(*this, numbers, count, {own_stream()});
}

cuda_stream::cuda_stream(std::shared_ptr<device> on) : on_(std::move(on)) {
  if (on_->kind() != device_kind::cuda)
    throw device_error("a CUDA stream needs a CUDA device, not '" + std::string(name_of(on_->kind())) + "'");
  const current_device current(static_cast<const cuda_gpu&>(*on_).number());
  cudaStream_t made = nullptr;
  require_success(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  handle_ = made;
}

cuda_stream::~cuda_stream() { cudaStreamDestroy(static_cast<cudaStream_t>(handle_)); }

}  // namespace nz
