#include <limits>
#include <type_traits>

#include <cublas_v2.h>

#include <nonzero/gpu/cuda/gpu.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>
#include <nonzero/gpu/steps/vector_kernels.cuh>

// cuBLAS's dot, nrm2, axpy and scal (https://docs.nvidia.com/cuda/cublas/), to compare our loops with. Its
// results stay on the card, and factors may come from there, as in ours.
namespace nz {
namespace {

/// The functions of cuBLAS that loops are compared with. They are looked up when first needed, in its shared
/// library, as cuSPARSE's are.
struct cublas_library {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasGetStatusString) status_string;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetPointerMode_v2) set_pointer_mode;
  decltype(&cublasSdot_v2) dot_float;
  decltype(&cublasDdot_v2) dot_double;
  decltype(&cublasSnrm2_v2) norm2_float;
  decltype(&cublasDnrm2_v2) norm2_double;
  decltype(&cublasSaxpy_v2) axpy_float;
  decltype(&cublasDaxpy_v2) axpy_double;
  decltype(&cublasSscal_v2) scale_float;
  decltype(&cublasDscal_v2) scale_double;
};

cublas_library load() {
  loaded_library from("cuBLAS", "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR));
  cublas_library all{};
  from.find("cublasCreate_v2", all.create);
  from.find("cublasDestroy_v2", all.destroy);
  from.find("cublasGetStatusString", all.status_string);
  from.find("cublasSetStream_v2", all.set_stream);
  from.find("cublasSetPointerMode_v2", all.set_pointer_mode);
  from.find("cublasSdot_v2", all.dot_float);
  from.find("cublasDdot_v2", all.dot_double);
  from.find("cublasSnrm2_v2", all.norm2_float);
  from.find("cublasDnrm2_v2", all.norm2_double);
  from.find("cublasSaxpy_v2", all.axpy_float);
  from.find("cublasDaxpy_v2", all.axpy_double);
  from.find("cublasSscal_v2", all.scale_float);
  from.find("cublasDscal_v2", all.scale_double);
  from.keep();
  return all;
}

/// Throws `unsupported` where the library is missing, or lacks a function.
const cublas_library& cublas() {
  static const cublas_library library = load();
  return library;
}

/// Throws `device_error` with the cuBLAS call that failed and its message.
void require_success(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw device_error(std::string("cuBLAS: ") + call + ": " + cublas().status_string(status));
}

struct destroy_cublas {
  void operator()(cublasHandle_t made) const noexcept { cublas().destroy(made); }
};
using cublas_handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy_cublas>;

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

#define NONZERO_INSTANTIATE(V)                                                                      \
  template std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>&, \
                                                                    std::size_t);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
