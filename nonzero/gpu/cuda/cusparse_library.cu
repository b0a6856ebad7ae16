#include <dlfcn.h>

#include <nonzero/gpu/cuda/cusparse_library.cuh>

namespace nz {
namespace {

struct close_library {
  void operator()(void* opened) const noexcept { dlclose(opened); }
};
using opened_library = std::unique_ptr<void, close_library>;

/// Where the loader finds it, else where it was when this was built.
opened_library open_cusparse() {
  const std::string name = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
  std::string reason;
  for (const std::string& path : {name, std::string(NONZERO_CUDA_LIBRARIES) + "/" + name}) {
    if (opened_library opened{dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)}) return opened;
    if (const char* why = dlerror(); reason.empty() && why != nullptr) reason = why;
  }
  throw unsupported("cuSPARSE's library cannot be loaded: " + reason +
                    "; install it with the CUDA toolkit or put its folder into LD_LIBRARY_PATH");
}

template <class Function> void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw unsupported("the cuSPARSE library that was found has no " + std::string(name) +
                      "; it is not of the version that this was built with");
}

cusparse_library load() {
  opened_library opened = open_cusparse();
  void* const from = opened.get();
  cusparse_library all{};
  find(from, "cusparseCreate", all.create);
  find(from, "cusparseDestroy", all.destroy);
  find(from, "cusparseGetErrorString", all.error_string);
  find(from, "cusparseSetStream", all.set_stream);
  find(from, "cusparseCreateCsr", all.create_csr);
  find(from, "cusparseCreateCoo", all.create_coo);
  find(from, "cusparseCreateSlicedEll", all.create_sliced_ell);
  find(from, "cusparseDestroySpMat", all.destroy_matrix);
  find(from, "cusparseCreateDnVec", all.create_vector);
  find(from, "cusparseDestroyDnVec", all.destroy_vector);
  find(from, "cusparseDnVecSetValues", all.set_values);
  find(from, "cusparseSpMV_bufferSize", all.buffer_size);
  find(from, "cusparseSpMV_preprocess", all.preprocess);
  find(from, "cusparseSpMV", all.multiply);
  // Stays open from here on: what it has made may be used until the program ends.
  [[maybe_unused]] void* const kept = opened.release();
  return all;
}

}  // namespace

const cusparse_library& cusparse() {
  static const cusparse_library library = load();
  return library;
}

}  // namespace nz
