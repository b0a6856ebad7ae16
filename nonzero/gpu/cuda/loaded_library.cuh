#pragma once

#include <memory>
#include <string>
#include <utility>

#include <dlfcn.h>

#include <nonzero/core/errors.hpp>

namespace nz {

/// A shared library that is loaded when it is first needed: programs that do not compare with it work without
/// it.
class loaded_library {
 public:
  /// `title` for people, `file` for the loader: where that finds it, else where it was when this was built.
  /// Throws `unsupported` where it is in neither place.
  loaded_library(std::string title, const std::string& file);

  /// Throws `unsupported` where it has no such function.
  template <class Function> void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(find_symbol(name));
  }
  /// It stays open from here on: what it has made may be used until the program ends.
  void keep() { [[maybe_unused]] void* const kept = opened_.release(); }

 private:
  struct close {
    void operator()(void* opened) const noexcept;
  };
  void* find_symbol(const char* name) const;

  std::string title_;
  std::unique_ptr<void, close> opened_;
};

inline void loaded_library::close::operator()(void* opened) const noexcept { dlclose(opened); }

inline loaded_library::loaded_library(std::string title, const std::string& file) : title_(std::move(title)) {
  std::string reason;
  for (const std::string& path : {file, std::string(NONZERO_CUDA_LIBRARIES) + "/" + file}) {
    opened_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (opened_) return;
    if (const char* why = dlerror(); reason.empty() && why != nullptr) reason = why;
  }
  throw unsupported(title_ + "'s library cannot be loaded: " + reason +
                    "; install it with the CUDA toolkit or put its folder into LD_LIBRARY_PATH");
}

inline void* loaded_library::find_symbol(const char* name) const {
  void* const found = dlsym(opened_.get(), name);
  if (found == nullptr)
    throw unsupported("the " + title_ + " library that was found has no " + name +
                      "; it is not of the version that this was built with");
  return found;
}

}  // namespace nz
