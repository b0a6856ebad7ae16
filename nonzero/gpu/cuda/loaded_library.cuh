#pragma once

#include <memory>
#include <string>
#include <utility>

#include <dlfcn.h>

#include <nonzero/core/errors.hpp>

namespace nz {

/// A shared library that is loaded when it is first needed: programs that do not compare with it work without
/// it. Derive from it, with a member for each function:
///   decltype(&cublasCreate_v2) create = find("cublasCreate_v2");
class loaded_library {
 protected:
  /// `title` for messages, `file` for the loader. The file is searched for where the loader does, then in the
  /// folder where it was when this was built. Throws `unsupported` where it is in neither place.
  loaded_library(std::string title, const std::string& file) : title_(std::move(title)) {
    std::string reason;
    for (const std::string& path : {file, std::string(NONZERO_CUDA_LIBRARIES) + "/" + file}) {
      opened_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
      if (opened_) return;
      if (const char* why = dlerror(); reason.empty() && why != nullptr) reason = why;
    }
    throw unsupported(title_ + "'s library cannot be loaded: " + reason +
                      "; install it with the CUDA toolkit or put its folder into LD_LIBRARY_PATH");
  }

  struct symbol {
    void* address;
    template <class Function> operator Function*() const { return reinterpret_cast<Function*>(address); }
  };
  /// Throws `unsupported` where the library has no such function.
  symbol find(const char* name) const {
    void* const found = dlsym(opened_.get(), name);
    if (found == nullptr)
      throw unsupported("the " + title_ + " library that was found has no " + name +
                        "; it is not of the version that this was built with");
    return {found};
  }

 private:
  struct close {
    void operator()(void* opened) const noexcept { dlclose(opened); }
  };

  std::string title_;
  std::unique_ptr<void, close> opened_;
};

/// The one Library of the program, loaded at the first call. It is never closed: what it has made may be used
/// until the program ends. Throws `unsupported` where it is missing, or lacks a function.
template <class Library> const Library& loaded() {
  static const Library& only = *new Library;
  return only;
}

}  // namespace nz
