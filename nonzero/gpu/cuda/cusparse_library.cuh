#pragma once

#include <memory>
#include <string>

#include <cusparse.h>

#include <nonzero/core/errors.hpp>

namespace nz {

/// The functions of cuSPARSE that the peers call. They are looked up when first needed, in its shared
/// library: whoever never compares with it needs not have it.
struct cusparse_library {
  decltype(&cusparseCreate) create;
  decltype(&cusparseDestroy) destroy;
  decltype(&cusparseGetErrorString) error_string;
  decltype(&cusparseSetStream) set_stream;
  decltype(&cusparseCreateCsr) create_csr;
  decltype(&cusparseCreateCoo) create_coo;
  decltype(&cusparseCreateSlicedEll) create_sliced_ell;
  decltype(&cusparseDestroySpMat) destroy_matrix;
  decltype(&cusparseCreateDnVec) create_vector;
  decltype(&cusparseDestroyDnVec) destroy_vector;
  decltype(&cusparseDnVecSetValues) set_values;
  decltype(&cusparseSpMV_bufferSize) buffer_size;
  decltype(&cusparseSpMV_preprocess) preprocess;
  decltype(&cusparseSpMV) multiply;
};

/// Throws `unsupported` where the library is missing, or lacks a function.
const cusparse_library& cusparse();

/// Throws with the cuSPARSE call that failed and its message: `unsupported` where cuSPARSE says that it does
/// not support what it was asked for, else `device_error`.
inline void require_success(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const std::string message = std::string("cuSPARSE: ") + call + ": " + cusparse().error_string(status);
  if (status == CUSPARSE_STATUS_NOT_SUPPORTED) throw unsupported(message);
  throw device_error(message);
}

// What cuSPARSE makes, each with how it is destroyed. By then the library has been found.
struct destroy_cusparse {
  void operator()(cusparseHandle_t made) const noexcept { cusparse().destroy(made); }
  void operator()(cusparseSpMatDescr_t made) const noexcept { cusparse().destroy_matrix(made); }
  void operator()(cusparseDnVecDescr_t made) const noexcept { cusparse().destroy_vector(made); }
};
template <class Pointer>
using cusparse_owner = std::unique_ptr<std::remove_pointer_t<Pointer>, destroy_cusparse>;
using cusparse_handle = cusparse_owner<cusparseHandle_t>;
using cusparse_matrix = cusparse_owner<cusparseSpMatDescr_t>;
using cusparse_vector = cusparse_owner<cusparseDnVecDescr_t>;

}  // namespace nz
