#include <vector>

#include <nonzero/gpu/back_end.cuh>
#include <nonzero/gpu/cuda/gpu.cuh>

namespace nz {

#define NONZERO_GPU_KERNEL(name) kernel_row cuda_##name##_row();
#include <nonzero/gpu/kernels.def>
#undef NONZERO_GPU_KERNEL

// Other libraries, for comparison: each in a source of its own, where its header was found.
#ifdef NONZERO_HAS_CUSPARSE
std::span<const kernel_row> cusparse_kernels();
#else
static std::span<const kernel_row> cusparse_kernels() { return {}; }
#endif
#ifdef NONZERO_HAS_CUBLAS
template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>& on, std::size_t size);
#else
template <class V>
std::unique_ptr<vector_kernels<V>> cublas_vector_kernels(const std::shared_ptr<device>&, std::size_t) {
  throw unsupported("this nonzero was built without cuBLAS's header; install it with the CUDA toolkit");
}
#endif

namespace {

template <class V> back_end_functions<V> functions_with_cublas() {
  back_end_functions<V> out = gpu::functions_on<cuda_queue, V>();
  out.make_blas = cublas_vector_kernels<V>;
  return out;
}

}  // namespace

std::span<const kernel_row> cuda_kernels() {
  static const std::vector<kernel_row> rows = [] {
    const kernel_row ours[] = {
#define NONZERO_GPU_KERNEL(name) cuda_##name##_row(),
#include <nonzero/gpu/kernels.def>
#undef NONZERO_GPU_KERNEL
    };
    return join({ours, cusparse_kernels()});
  }();
  return rows;
}

const back_end* cuda_back_end() {
#define NONZERO_FUNCTIONS(V) functions_with_cublas<V>(),
  static const back_end only{.kind = device_kind::cuda,
                             .kernels = cuda_kernels,
                             .device_count = [] { return static_cast<int>(cuda_devices().size()); },
                             .find_device = cuda_device,
                             .read = gpu::read<cuda_queue>,
                             .functions = {{}, NONZERO_FOR_EACH_VALUE(NONZERO_FUNCTIONS)}};
#undef NONZERO_FUNCTIONS
  return &only;
}

}  // namespace nz
