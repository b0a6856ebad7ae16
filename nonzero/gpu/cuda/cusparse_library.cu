#include <nonzero/gpu/cuda/cusparse_library.cuh>
#include <nonzero/gpu/cuda/loaded_library.cuh>

namespace nz {
namespace {

cusparse_library load() {
  loaded_library from("cuSPARSE", "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR));
  cusparse_library all{};
  from.find("cusparseCreate", all.create);
  from.find("cusparseDestroy", all.destroy);
  from.find("cusparseGetErrorString", all.error_string);
  from.find("cusparseSetStream", all.set_stream);
  from.find("cusparseCreateCsr", all.create_csr);
  from.find("cusparseCreateCoo", all.create_coo);
  from.find("cusparseCreateSlicedEll", all.create_sliced_ell);
  from.find("cusparseDestroySpMat", all.destroy_matrix);
  from.find("cusparseCreateDnVec", all.create_vector);
  from.find("cusparseDestroyDnVec", all.destroy_vector);
  from.find("cusparseDnVecSetValues", all.set_values);
  from.find("cusparseSpMV_bufferSize", all.buffer_size);
  from.find("cusparseSpMV_preprocess", all.preprocess);
  from.find("cusparseSpMV", all.multiply);
  from.keep();
  return all;
}

}  // namespace

const cusparse_library& cusparse() {
  static const cusparse_library library = load();
  return library;
}

}  // namespace nz
