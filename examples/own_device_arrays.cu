// Plans for CSR arrays and vectors that are already in a GPU's memory: from cudaMalloc and from Thrust.
//   own_device_arrays

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include <cuda_runtime.h>
#include <thrust/device_vector.h>

#include <nonzero/nonzero.hpp>

namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

template <class T> T* copy_to_gpu(const std::vector<T>& values) {
  T* there = nullptr;
  check(cudaMalloc(&there, values.size() * sizeof(T)));
  check(cudaMemcpy(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return there;
}

//     | 4 1 · |
// A = | · 3 · |     A (1, 1, 1) = (5, 3, 7)
//     | 2 · 5 |
const std::vector<std::int32_t> host_row_begin = {0, 2, 3, 5}, host_col = {0, 1, 1, 0, 2};
const std::vector<double> host_val = {4, 1, 3, 2, 5};

void from_cuda_malloc(cudaStream_t stream) {
  const int rows = 3, cols = 3, nnz = 5;
  std::int32_t* row_begin = copy_to_gpu(host_row_begin);
  std::int32_t* col = copy_to_gpu(host_col);
  double* val = copy_to_gpu(host_val);
  double* x = copy_to_gpu(std::vector<double>(cols, 1.0));
  double* y = copy_to_gpu(std::vector<double>(rows));
  std::vector<double> result(rows);

  {
    auto gpu = nz::find_device("cuda");
    auto a = nz::borrow_csr(nz::csr_view(rows, cols, nnz, row_begin, col, val), gpu, {stream});
    auto plan = nz::make_plan(a);
    nz::vector_view<double> x_there(gpu, x, cols), y_there(gpu, y, rows);
    plan.multiply(x_there, y_there, {stream});  // in your stream; does not wait

    check(cudaMemcpyAsync(result.data(), y, rows * sizeof(double), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  }  // the plan and the device_csr end before the arrays do

  for (void* array : {static_cast<void*>(row_begin), static_cast<void*>(col), static_cast<void*>(val),
                      static_cast<void*>(x), static_cast<void*>(y)})
    check(cudaFree(array));
  std::printf("cudaMalloc: %g %g %g\n", result[0], result[1], result[2]);
}

void from_thrust(cudaStream_t stream) {
  thrust::device_vector<std::int32_t> row_begin = host_row_begin, col = host_col;
  thrust::device_vector<double> val = host_val, x(3, 1.0), y(3);

  auto gpu = nz::find_device("cuda");
  auto pointer = [](auto& array) { return thrust::raw_pointer_cast(array.data()); };
  auto a =
      nz::borrow_csr(nz::csr_view(3, 3, 5, pointer(row_begin), pointer(col), pointer(val)), gpu, {stream});
  auto plan = nz::make_plan(a);
  nz::vector_view<double> x_there(gpu, pointer(x), x.size()), y_there(gpu, pointer(y), y.size());
  plan.multiply(x_there, y_there, {stream});

  check(cudaStreamSynchronize(stream));
  std::printf("Thrust: %g %g %g\n", static_cast<double>(y[0]), static_cast<double>(y[1]),
              static_cast<double>(y[2]));
}

}  // namespace

int main() try {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("no GPU");
    return 0;
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  from_cuda_malloc(stream);
  from_thrust(stream);
  check(cudaStreamDestroy(stream));
} catch (const std::exception& e) {
  std::fprintf(stderr, "own_device_arrays: %s\n", e.what());
  return 1;
}
