#include <algorithm>
#include <atomic>

#include <nonzero/core/vector.hpp>
#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/scratch.cuh>

namespace nz {

/// Who launches: a stream, or what is captured in it.
struct cuda_scratch::user {
  /// Its id, as a handle may be that of a stream destroyed before. In a capture, where it cannot be asked for
  /// and ends the capture, the handle: a stream of a capture is not destroyed before its end.
  unsigned long long stream = 0;
  unsigned long long capture = 0;  // 0: none
  cudaGraph_t graph = nullptr;     // that is being captured

  explicit user(cudaStream_t in) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    require_success(cudaStreamGetCaptureInfo(in, &status, &capture, &graph), "cudaStreamGetCaptureInfo");
    if (status == cudaStreamCaptureStatusInvalidated)
      throw device_error("the capture in this stream has failed before: end it");
    if (status == cudaStreamCaptureStatusActive) {
      stream = reinterpret_cast<std::uintptr_t>(in);
    } else {
      capture = 0;
      require_success(cudaStreamGetId(in, &stream), "cudaStreamGetId");
    }
  }
};

struct cuda_scratch::set {
  std::shared_ptr<std::byte> memory;
  std::shared_ptr<void> attached;  // destroyed before the memory
  std::mutex launching;
  std::atomic<int> waiting = 0;  // threads that the set is found for, and another thread is launching

  // Guarded by the pool's mutex.
  bool is_bound = false;
  unsigned long long stream = 0, capture = 0;
  /// Set by us, reset by the graph's end, which may come after that of the pool.
  std::shared_ptr<std::atomic<bool>> is_in_graph = std::make_shared<std::atomic<bool>>(false);

  // Guarded by `launching`.
  cudaEvent_t done = nullptr;  // after the last multiply, if has_recorded
  bool has_recorded = false;

  set() = default;
  set(const set&) = delete;
  set& operator=(const set&) = delete;
  ~set() {
    if (done != nullptr) cudaEventDestroy(done);
  }

  bool is_bound_to(const user& who) const {
    return is_bound && stream == who.stream && capture == who.capture;
  }
  bool is_free() const {
    if (waiting > 0) return false;
    return !is_bound || (capture != 0 && !is_in_graph->load(std::memory_order_acquire));
  }
  /// Whether the stream's work with it is known to be done.
  bool is_idle() {
    if (capture != 0 || waiting > 0) return false;
    const std::unique_lock lock(launching, std::try_to_lock);
    if (!lock.owns_lock() || !has_recorded) return false;
    const any_capture_allowed allowed;
    const cudaError_t status = cudaEventQuery(done);
    if (status != cudaSuccess) cudaGetLastError();  // not ready, or an error of work that its stream reports
    return status == cudaSuccess;
  }
  void bind_to(const user& who) {
    if (who.capture != 0) keep_until_end_of(who.graph);
    is_bound = true;
    stream = who.stream;
    capture = who.capture;
    has_recorded = false;
  }

 private:
  /// What a graph calls at its end, on a thread of CUDA's that may not call CUDA.
  static void CUDART_CB return_from_graph(void* kept) {
    auto* const is_in_graph = static_cast<std::shared_ptr<std::atomic<bool>>*>(kept);
    (*is_in_graph)->store(false, std::memory_order_release);
    delete is_in_graph;
  }
  void keep_until_end_of(cudaGraph_t graph) {
    auto kept = std::make_unique<std::shared_ptr<std::atomic<bool>>>(is_in_graph);
    cudaUserObject_t user_object = nullptr;
    require_success(
        cudaUserObjectCreate(&user_object, kept.get(), return_from_graph, 1, cudaUserObjectNoDestructorSync),
        "cudaUserObjectCreate");
    kept.release();
    is_in_graph->store(true);
    const cudaError_t status = cudaGraphRetainUserObject(graph, user_object, 1, cudaGraphUserObjectMove);
    if (status != cudaSuccess) cudaUserObjectRelease(user_object, 1);
    require_success(status, "cudaGraphRetainUserObject");
  }
};

cuda_scratch::cuda_scratch(std::shared_ptr<device> on, const gpu::scratch_layout& layout)
    : cuda_scratch(std::move(on), layout.bytes(), gpu::sets_to_begin_with(layout.bytes()), {}) {}

cuda_scratch::cuda_scratch(std::shared_ptr<device> on, std::size_t bytes, int sets, attachment attach)
    : on_(std::move(on)), bytes_(bytes), attach_(std::move(attach)) {
  const current_device current(static_cast<const cuda_gpu&>(*on_).number());
  if (sets > 0) make(sets);
}

cuda_scratch::~cuda_scratch() = default;

std::uint64_t cuda_scratch::bytes() const {
  const std::lock_guard lock(mutex_);
  return sets_.size() * bytes_;
}

/// In one allocation, as each waits for the GPU. Returns the last.
cuda_scratch::set& cuda_scratch::make(int count) const {
  const any_capture_allowed allowed;
  const std::size_t distance = gpu::aligned_up(bytes_);
  const auto memory = std::make_shared<vector<std::byte>>(on_, distance * static_cast<std::size_t>(count));
  if (bytes_ > 0) static_cast<cuda_gpu&>(*on_).fill_with_zeros(memory->data(), memory->size());
  for (int i = 0; i < count; ++i) {
    auto made = std::make_unique<set>();
    made->memory = {memory, memory->data() + static_cast<std::size_t>(i) * distance};
    if (attach_) made->attached = attach_(made->memory.get());
    sets_.push_back(std::move(made));
  }
  return *sets_.back();
}

cuda_scratch::set* cuda_scratch::find_bound_to(const user& who) const {
  for (const auto& each : sets_)
    if (each->is_bound_to(who)) return each.get();
  return nullptr;
}

cuda_scratch::set& cuda_scratch::find_for(const user& who) const {
  if (set* const found = find_bound_to(who)) return *found;
  const auto find = [&](auto suits) -> set* {
    const auto found = std::find_if(sets_.begin(), sets_.end(), suits);
    return found == sets_.end() ? nullptr : found->get();
  };
  set* found = find([](const auto& each) { return each->is_free(); });
  if (found == nullptr) found = find([](const auto& each) { return each->is_idle(); });
  if (found == nullptr) {
    found = &make(1);
    has_events_ = has_events_ || who.capture == 0;
  }
  found->bind_to(who);
  return *found;
}

cuda_scratch::lease cuda_scratch::lend(stream in) const {
  const user who(static_cast<cudaStream_t>(in.handle));
  std::unique_lock lock(mutex_);
  set& found = find_for(who);
  const bool has_event = has_events_ && who.capture == 0;
  std::unique_lock launching(found.launching, std::try_to_lock);
  if (launching.owns_lock()) return {found, std::move(launching), in, has_event};
  ++found.waiting;
  lock.unlock();
  launching.lock();
  --found.waiting;
  return {found, std::move(launching), in, has_event};
}

cuda_scratch::lease::lease(set& lent, std::unique_lock<std::mutex> launching, stream in, bool has_event)
    : set_(lent), launching_(std::move(launching)), in_(in), has_event_(has_event) {
  if (has_event_ && set_.done == nullptr)
    require_success(cudaEventCreateWithFlags(&set_.done, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

cuda_scratch::lease::~lease() {
  if (!has_event_) {
    set_.has_recorded = false;  // an event of an earlier lease does not wait for this one
    return;
  }
  set_.has_recorded = cudaEventRecord(set_.done, static_cast<cudaStream_t>(in_.handle)) == cudaSuccess;
  if (!set_.has_recorded) cudaGetLastError();  // no other stream takes this set, then
}

std::byte* cuda_scratch::lease::data() const { return set_.memory.get(); }
void* cuda_scratch::lease::attached() const { return set_.attached.get(); }

}  // namespace nz
