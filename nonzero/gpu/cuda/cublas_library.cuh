#pragma once

#include <memory>
#include <string>

#include <cublas_v2.h>

#include <nonzero/core/errors.hpp>

namespace nz {

/// The functions of cuBLAS that loops are compared with. They are looked up when first needed, in its shared
/// library, as cuSPARSE's are (cusparse_library.cuh).
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

/// Throws `unsupported` where the library is missing, or lacks a function.
const cublas_library& cublas();

/// Throws `device_error` with the cuBLAS call that failed and its message.
inline void require_success(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw device_error(std::string("cuBLAS: ") + call + ": " + cublas().status_string(status));
}

struct destroy_cublas {
  void operator()(cublasHandle_t made) const noexcept { cublas().destroy(made); }
};
using cublas_handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, destroy_cublas>;

}  // namespace nz
