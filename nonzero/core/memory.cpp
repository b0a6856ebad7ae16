#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include <nonzero/core/cgroups.hpp>
#include <nonzero/core/memory.hpp>

namespace nz {
namespace {

namespace fs = std::filesystem;

/// The number in a file of one number; none where there is no file, or a word such as "max".
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

/// The number that follows `key` in a file of keys and numbers.
std::optional<std::uint64_t> number_after(const std::string& key, const fs::path& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    if (std::uint64_t value = 0; words >> first && first == key && words >> value) return value;
  }
  return std::nullopt;
}

/// The names of one version's files in the folder of a cgroup.
struct cgroup_files {
  const char *limit, *used, *cached;  // cached: the key in memory.stat for what can be reclaimed
};
constexpr cgroup_files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
    version_2{"memory.max", "memory.current", "inactive_file"};

/// What a cgroup leaves; the largest number where it has no limit.
std::uint64_t left_in(const fs::path& cgroup, const cgroup_files& files) {
  const auto limit = number_in(cgroup / files.limit), used = number_in(cgroup / files.used);
  if (!limit || !used) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t cached = number_after(files.cached, cgroup / "memory.stat").value_or(0);
  const std::uint64_t taken = *used - std::min(cached, *used);
  return *limit - std::min(taken, *limit);
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(units)) {
    size /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", size, size < 100 ? 1 : 0, units[unit]);
}

void require_memory(std::string_view subject, std::uint64_t bytes) {
  const std::uint64_t available = available_memory();
  if (bytes > available)
    throw not_enough_memory(
        fmt::format("{} {}, and {} is available", subject, format_bytes(bytes), format_bytes(available)));
}

std::uint64_t available_memory(const std::string& root_folder) {
  const fs::path root = root_folder;
  constexpr std::uint64_t kibibyte = 1024;
  const auto kibibytes = number_after("MemAvailable:", root / "proc/meminfo");
  std::uint64_t least = kibibytes ? *kibibytes * kibibyte
                                  : static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                        static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (const auto& [folder, is_version_2] : cgroups_of("memory", root_folder))
    least = std::min(least, left_in(folder, is_version_2 ? version_2 : version_1));
  return least;
}

}  // namespace nz
