#include <dlfcn.h>

#include <nonzero/gpu/cuda/cublas_library.cuh>

namespace nz {
namespace {

struct close_library {
  void operator()(void* opened) const noexcept { dlclose(opened); }
};
using opened_library = std::unique_ptr<void, close_library>;

/// Where the loader finds it, else where it was when this was built.
opened_library open_cublas() {
  const std::string name = "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR);
  std::string reason;
  for (const std::string& path : {name, std::string(NONZERO_CUDA_LIBRARIES) + "/" + name}) {
    if (opened_library opened{dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)}) return opened;
    if (const char* why = dlerror(); reason.empty() && why != nullptr) reason = why;
  }
  throw unsupported("cuBLAS's library cannot be loaded: " + reason +
                    "; install it with the CUDA toolkit or put its folder into LD_LIBRARY_PATH");
}

template <class Function> void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr)
    throw unsupported("the cuBLAS library that was found has no " + std::string(name) +
                      "; it is not of the version that this was built with");
}

cublas_library load() {
  opened_library opened = open_cublas();
  void* const from = opened.get();
  cublas_library all{};
  find(from, "cublasCreate_v2", all.create);
  find(from, "cublasDestroy_v2", all.destroy);
  find(from, "cublasGetStatusString", all.status_string);
  find(from, "cublasSetStream_v2", all.set_stream);
  find(from, "cublasSetPointerMode_v2", all.set_pointer_mode);
  find(from, "cublasSdot_v2", all.dot_float);
  find(from, "cublasDdot_v2", all.dot_double);
  find(from, "cublasSnrm2_v2", all.norm2_float);
  find(from, "cublasDnrm2_v2", all.norm2_double);
  find(from, "cublasSaxpy_v2", all.axpy_float);
  find(from, "cublasDaxpy_v2", all.axpy_double);
  find(from, "cublasSscal_v2", all.scale_float);
  find(from, "cublasDscal_v2", all.scale_double);
  // Stays open from here on: what it has made may be used until the program ends.
  [[maybe_unused]] void* const kept = opened.release();
  return all;
}

}  // namespace

const cublas_library& cublas() {
  static const cublas_library library = load();
  return library;
}

}  // namespace nz
