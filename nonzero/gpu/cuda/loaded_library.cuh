#pragma once

#include <memory>
#include <string>

namespace nz {

/// A shared library that is looked for when it is first needed: whoever never compares with it need not have
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

}  // namespace nz
