#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

/// A new folder that no other process uses, or left behind; removed at the end, with all that is in it.
struct temporary_folder {
  const std::filesystem::path path = make();

  temporary_folder() = default;
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path, ignored);
  }

 private:
  static std::filesystem::path make() {
    std::string name = (std::filesystem::temp_directory_path() / "nonzero-test-XXXXXX").native();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test");
    return std::filesystem::canonical(name);
  }
};
