#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include <nonzero/core/cgroups.hpp>

namespace nz {
namespace {

/// Of a cgroup; 0: no limit.
int processors_of(const cgroup& group) {
  double quota = 0, period = 0;
  if (group.is_version_2) {
    std::ifstream(group.folder / "cpu.max") >> quota >> period;  // "max" is no number: 0
  } else {
    std::ifstream(group.folder / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group.folder / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::min(1e6, (quota + period - 1) / period)))
                                 : 0;
}

}  // namespace

std::vector<cgroup> cgroups_of(std::string_view controller, const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<cgroup> out;
  std::ifstream in(fs::path(root) / "proc/self/cgroup");
  for (std::string line;
       std::getline(in, line);) {  // "4:cpu,cpuacct:/a/b" in version 1, "0::/a/b" in version 2
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const bool is_version_2 = controllers == ",,";
    if (!is_version_2 && controllers.find(fmt::format(",{},", controller)) == std::string::npos) continue;
    const fs::path mount = fs::path(root) / "sys/fs/cgroup" / (is_version_2 ? "" : controller);
    for (fs::path name = fs::path(line.substr(second + 1)).relative_path(); !name.empty();
         name = name.parent_path())
      out.push_back({mount / name, is_version_2});
    out.push_back({mount, is_version_2});
  }
  return out;
}

int processors_of_cgroups(const std::string& root) {
  int lowest = 0;
  for (const cgroup& group : cgroups_of("cpu", root))
    if (const int most = processors_of(group); most > 0) lowest = lowest > 0 ? std::min(lowest, most) : most;
  return lowest;
}

}  // namespace nz
