#include <utility>

#include <dlfcn.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/gpu/cuda/loaded_library.cuh>

namespace nz {

void loaded_library::close::operator()(void* opened) const noexcept { dlclose(opened); }

loaded_library::loaded_library(std::string title, const std::string& file) : title_(std::move(title)) {
  std::string reason;
  for (const std::string& path : {file, std::string(NONZERO_CUDA_LIBRARIES) + "/" + file}) {
    opened_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (opened_) return;
    if (const char* why = dlerror(); reason.empty() && why != nullptr) reason = why;
  }
  throw unsupported(title_ + "'s library cannot be loaded: " + reason +
                    "; install it with the CUDA toolkit or put its folder into LD_LIBRARY_PATH");
}

void* loaded_library::find_symbol(const char* name) const {
  void* const found = dlsym(opened_.get(), name);
  if (found == nullptr)
    throw unsupported("the " + title_ + " library that was found has no " + name +
                      "; it is not of the version that this was built with");
  return found;
}

}  // namespace nz
