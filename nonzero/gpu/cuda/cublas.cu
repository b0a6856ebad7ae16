#include <limits>
#include <type_traits>

#include <cublas_v2.h>

#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>
#include <nonzero/gpu/steps/vector_kernels.cuh>

// cuBLAS's dot, nrm2, axpy and scal (https://docs.nvidia.com/cuda/cublas/), to compare our loops with. Its
// results stay on the GPU, and factors may come from there, as in ours.
namespace nz {
namespace {

/// The functions of cuBLAS that loops are compared with, for vectors of V.
template <class V> struct cublas_library : loaded_library {
  cublas_library() : loaded_library("cuBLAS", "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR)) {}

  static constexpr bool is_float = std::is_same_v<V, float>;
  template <class Float, class Double> using either = std::conditional_t<is_float, Float, Double>;

  decltype(&cublasCreate_v2) create = find("cublasCreate_v2");
  decltype(&cublasDestroy_v2) destroy = find("cublasDestroy_v2");
  decltype(&cublasGetStatusString) status_string = find("cublasGetStatusString");
  decltype(&cublasSetStream_v2) set_stream = find("cublasSetStream_v2");
  decltype(&cublasSetPointerMode_v2) set_pointer_mode = find("cublasSetPointerMode_v2");
  either<decltype(&cublasSdot_v2), decltype(&cublasDdot_v2)> dot =
      find(is_float ? "cublasSdot_v2" : "cublasDdot_v2");
  either<decltype(&cublasSnrm2_v2), decltype(&cublasDnrm2_v2)> norm2 =
      find(is_float ? "cublasSnrm2_v2" : "cublasDnrm2_v2");
  either<decltype(&cublasSaxpy_v2), decltype(&cublasDaxpy_v2)> axpy =
      find(is_float ? "cublasSaxpy_v2" : "cublasDaxpy_v2");
  either<decltype(&cublasSscal_v2), decltype(&cublasDscal_v2)> scale =
      find(is_float ? "cublasSscal_v2" : "cublasDscal_v2");

  /// Throws `device_error` with the cuBLAS call that failed and its message.
  void require_success(cublasStatus_t status, const char* call) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw device_error(std::string("cuBLAS: ") + call + ": " + status_string(status));
  }
};

template <class V> class by_cublas final : public gpu::small_vector_kernels<V, cuda_queue> {
 public:
  by_cublas(const std::shared_ptr<device>& on, std::size_t size)
      : gpu::small_vector_kernels<V, cuda_queue>(on, size),
        number_(static_cast<const cuda_gpu&>(*on).number()),
        handles_(on, 0, 2, [this](std::byte*) { return make_handle(); }) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw unsupported("cuBLAS's vectors have at most 2^31 - 1 numbers");
  }
  std::string_view name() const override { return "cuBLAS"; }

 private:
  /// A handle for each stream or graph that uses them at once: cuBLAS keeps work space with it.
  std::shared_ptr<void> make_handle() const {
    cublasHandle_t made = nullptr;
    library_.require_success(library_.create(&made), "cublasCreate");
    return {made, [](cublasHandle_t ends) { loaded<cublas_library<V>>().destroy(ends); }};
  }

  /// function(handle, length, args...) in a stream; `mode`: where the numbers among the arguments lie.
  template <class Function, class... Args>
  void run(const char* name, cublasPointerMode_t mode, stream in, Function function, Args... args) const {
    const current_device current(number_);
    const auto set = handles_.lend(in);
    const auto handle = static_cast<cublasHandle_t>(set.attached());
    library_.require_success(library_.set_stream(handle, static_cast<cudaStream_t>(in.handle)),
                             "cublasSetStream");
    library_.require_success(library_.set_pointer_mode(handle, mode), "cublasSetPointerMode");
    library_.require_success(function(handle, static_cast<int>(this->size()), args...), name);
  }

  void run_dot(const V* x, const V* y, V* to, stream in) const override {
    run("cublasDot", CUBLAS_POINTER_MODE_DEVICE, in, library_.dot, x, 1, y, 1, to);
  }
  void run_norm2(const V* x, V* to, stream in) const override {
    run("cublasNrm2", CUBLAS_POINTER_MODE_DEVICE, in, library_.norm2, x, 1, to);
  }
  void run_axpy(V alpha, const V* alpha_at, const V* x, V* y, stream in) const override {
    run("cublasAxpy", mode_of(alpha_at), in, library_.axpy, alpha_at == nullptr ? &alpha : alpha_at, x, 1, y,
        1);
  }
  void run_scale(V alpha, const V* alpha_at, V* x, stream in) const override {
    run("cublasScal", mode_of(alpha_at), in, library_.scale, alpha_at == nullptr ? &alpha : alpha_at, x, 1);
  }
  static cublasPointerMode_t mode_of(const V* alpha_at) {
    return alpha_at == nullptr ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE;
  }

  const cublas_library<V>& library_ = loaded<cublas_library<V>>();
  int number_;
  cuda_scratch handles_;
};

}  // namespace

template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>& on,
                                                         std::size_t size) {
  return std::make_unique<by_cublas<V>>(on, size);
}

#define NONZERO_INSTANTIATE(V)                                                                      \
  template std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>&, \
                                                                    std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
