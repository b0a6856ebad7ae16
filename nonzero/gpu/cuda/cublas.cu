#include <limits>
#include <type_traits>

#include <nonzero/gpu/cuda/cublas_library.cuh>
#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/kernels/vector_kernels.cuh>

// cuBLAS's dot, nrm2, axpy and scal (https://docs.nvidia.com/cuda/cublas/), to compare our loops with. Its
// results stay on the card, and factors may come from there, as in ours.
namespace nz {
namespace {

template <class V> class by_cublas final : public gpu::small_vector_kernels<V, cuda_queue> {
 public:
  by_cublas(const std::shared_ptr<device>& on, std::size_t size)
      : gpu::small_vector_kernels<V, cuda_queue>(on, size),
        number_(static_cast<const gpu_card&>(*on).number()) {
    if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw unsupported("cuBLAS's vectors have at most 2^31 - 1 numbers");
    const current_device current(number_);
    cublasHandle_t made = nullptr;
    require_success(cublas().create(&made), "cublasCreate");
    handle_.reset(made);
  }
  std::string_view name() const override { return "cuBLAS"; }

 private:
  static constexpr bool is_float = std::is_same_v<V, float>;
  int length() const { return static_cast<int>(this->size()); }

  /// call(library, handle) with the handle set to a stream, and to where its numbers lie.
  template <class Call> void run(const char* name, cublasPointerMode_t mode, stream in, Call call) const {
    const current_device current(number_);
    const cublas_library& library = cublas();
    require_success(library.set_stream(handle_.get(), static_cast<cudaStream_t>(in.handle)),
                    "cublasSetStream");
    require_success(library.set_pointer_mode(handle_.get(), mode), "cublasSetPointerMode");
    require_success(call(library, handle_.get()), name);
  }

  void run_dot(const V* x, const V* y, V* to, stream in) const override {
    run("cublasDot", CUBLAS_POINTER_MODE_DEVICE, in,
        [&](const cublas_library& library, cublasHandle_t handle) {
          if constexpr (is_float)
            return library.dot_float(handle, length(), x, 1, y, 1, to);
          else
            return library.dot_double(handle, length(), x, 1, y, 1, to);
        });
  }
  void run_norm2(const V* x, V* to, stream in) const override {
    run("cublasNrm2", CUBLAS_POINTER_MODE_DEVICE, in,
        [&](const cublas_library& library, cublasHandle_t handle) {
          if constexpr (is_float)
            return library.norm2_float(handle, length(), x, 1, to);
          else
            return library.norm2_double(handle, length(), x, 1, to);
        });
  }
  void run_axpy(V alpha, const V* alpha_at, const V* x, V* y, stream in) const override {
    const V* const factor = alpha_at == nullptr ? &alpha : alpha_at;
    run("cublasAxpy", mode_of(alpha_at), in, [&](const cublas_library& library, cublasHandle_t handle) {
      if constexpr (is_float)
        return library.axpy_float(handle, length(), factor, x, 1, y, 1);
      else
        return library.axpy_double(handle, length(), factor, x, 1, y, 1);
    });
  }
  void run_scale(V alpha, const V* alpha_at, V* x, stream in) const override {
    const V* const factor = alpha_at == nullptr ? &alpha : alpha_at;
    run("cublasScal", mode_of(alpha_at), in, [&](const cublas_library& library, cublasHandle_t handle) {
      if constexpr (is_float)
        return library.scale_float(handle, length(), factor, x, 1);
      else
        return library.scale_double(handle, length(), factor, x, 1);
    });
  }
  static cublasPointerMode_t mode_of(const V* alpha_at) {
    return alpha_at == nullptr ? CUBLAS_POINTER_MODE_HOST : CUBLAS_POINTER_MODE_DEVICE;
  }

  int number_;
  cublas_handle handle_;
};

}  // namespace

template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>& on,
                                                         std::size_t size) {
  return std::make_unique<by_cublas<V>>(on, size);
}

template std::unique_ptr<vector_kernels<float>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                      std::size_t);
template std::unique_ptr<vector_kernels<double>> cublas_vector_kernels(const std::shared_ptr<device>&,
                                                                       std::size_t);

}  // namespace nz
