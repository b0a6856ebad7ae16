#include <nonzero/gpu/cuda/cublas_library.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>

namespace nz {
namespace {

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

}  // namespace

const cublas_library& cublas() {
  static const cublas_library library = load();
  return library;
}

}  // namespace nz
