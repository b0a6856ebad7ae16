#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace nz {

/// A cgroup that this process belongs to, as a folder of Linux's.
struct cgroup {
  std::filesystem::path folder;
  bool is_version_2;
};

/// Those that may limit what `controller` ("cpu", "memory") gives this process: its own and those around it.
/// In a container their names may be those of the host; then only the outermost exists. `root` is the root of
/// the file system, for tests.
std::vector<cgroup> cgroups_of(std::string_view controller, const std::string& root = "/");

/// The processors that the CPU time of this process's cgroups is worth, rounded up; 0: they have no limit.
int processors_of_cgroups(const std::string& root = "/");

}  // namespace nz
