#include <algorithm>

#include <nonzero/formats/footprint.hpp>
#include <nonzero/gpu/cuda/gpu.cuh>

namespace nz {
namespace {

cudaStream_t native(stream in) { return static_cast<cudaStream_t>(in.handle); }

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
          found.sharedMemPerBlockOptin};
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

/// Some calls of a body as a graph: the card goes from one to the next without waiting for the host to launch
/// it, which takes longer than a small multiply does.
class recorded_calls {
 public:
  /// Few calls are not worth it, and a body that cannot be recorded makes none.
  recorded_calls(int wanted, const std::function<void(stream)>& body) {
    constexpr int fewest = 32, most = 64;
    if (wanted < fewest) return;
    cudaGraph_t graph = record(std::min(wanted, most), body);
    if (graph != nullptr && cudaGraphInstantiate(&ready_, graph, 0) == cudaSuccess)
      calls_ = std::min(wanted, most);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // what cannot be recorded is called instead: no later call must find an error
  }
  recorded_calls(const recorded_calls&) = delete;
  recorded_calls& operator=(const recorded_calls&) = delete;
  ~recorded_calls() {
    if (ready_ != nullptr) cudaGraphExecDestroy(ready_);
  }

  int calls() const { return calls_; }
  void launch(cudaStream_t in) const { require_success(cudaGraphLaunch(ready_, in), "cudaGraphLaunch"); }

 private:
  static cudaGraph_t record(int calls, const std::function<void(stream)>& body) {
    cudaStream_t in = nullptr;
    if (cudaStreamCreateWithFlags(&in, cudaStreamNonBlocking) != cudaSuccess) return nullptr;
    cudaGraph_t graph = nullptr;
    if (cudaStreamBeginCapture(in, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
      bool is_recorded = true;
      try {
        for (int i = 0; i < calls; ++i) body({in});
      } catch (const error&) {
        is_recorded = false;
      }
      const bool has_ended = cudaStreamEndCapture(in, &graph) == cudaSuccess;
      if (graph != nullptr && !(is_recorded && has_ended)) {
        cudaGraphDestroy(graph);
        graph = nullptr;
      }
    }
    cudaStreamDestroy(in);
    return graph;
  }

  cudaGraphExec_t ready_ = nullptr;
  int calls_ = 0;
};

}  // namespace

std::vector<cuda_properties> cuda_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    cudaGetLastError();  // having no card is no error, and no later call must find one
    return {};
  }
  require_success(status, "cudaGetDeviceCount");
  std::vector<cuda_properties> devices;
  for (int i = 0; i < count; ++i) devices.push_back(properties_of(i));
  return devices;
}

std::shared_ptr<device> cuda_device(int number) {
  // In the order of their numbers.
  static const std::vector<std::shared_ptr<gpu_card>> cards = [] {
    std::vector<std::shared_ptr<gpu_card>> all;
    for (cuda_properties& found : cuda_devices())
      all.push_back(std::make_shared<gpu_card>(static_cast<int>(all.size()), std::move(found)));
    return all;
  }();
  if (cards.empty())
    throw device_error(
        "there is no CUDA device: no NVIDIA card, or no driver that knows the CUDA this was built with");
  if (number < 0 || static_cast<std::size_t>(number) >= cards.size())
    throw device_error("there is no CUDA device " + std::to_string(number) + "; the last is " +
                       std::to_string(cards.size() - 1));
  return cards[static_cast<std::size_t>(number)];
}

std::string gpu_card::description() const {
  return properties_.name + ", " + std::to_string(properties_.multiprocessors) + " multiprocessors, " +
         format_bytes(properties_.memory_bytes);
}

void* gpu_card::allocate(std::size_t bytes) { return pool_.allocate(bytes); }

void gpu_card::release(void* memory, std::size_t) noexcept { pool_.release(memory); }

void* gpu_card::allocate_in(cudaStream_t in, std::size_t bytes) { return pool_.allocate_in(in, bytes); }

void gpu_card::release_in(cudaStream_t in, void* memory) noexcept { pool_.release_in(in, memory); }

void gpu_card::copy(void* to, const void* from, std::size_t bytes, stream in) {
  const current_device current(number_);
  require_success(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, native(in)), "cudaMemcpyAsync");
}

void gpu_card::synchronize(stream in) {
  const current_device current(number_);
  require_success(cudaStreamSynchronize(native(in)), "cudaStreamSynchronize");
}

double gpu_card::measure(int times, const std::function<void(stream)>& body, bool replayed) {
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

cuda_stream::cuda_stream(std::shared_ptr<device> on) : on_(std::move(on)) {
  if (on_->kind() != device_kind::cuda)
    throw device_error("a CUDA stream needs a CUDA device, not '" + std::string(name_of(on_->kind())) + "'");
  const current_device current(static_cast<const gpu_card&>(*on_).number());
  cudaStream_t made = nullptr;
  require_success(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  handle_ = made;
}

cuda_stream::~cuda_stream() { cudaStreamDestroy(static_cast<cudaStream_t>(handle_)); }

}  // namespace nz
