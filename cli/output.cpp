#include "output.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>

namespace nz::cli {
namespace {

[[noreturn]] void throw_output_error(int reason) {
  throw error("cannot write to standard output: " + std::generic_category().message(reason));
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_output_error(errno);
}

std::string json_text(const nlohmann::ordered_json& value) {
  using handler = nlohmann::ordered_json::error_handler_t;
  // A file's name may be no UTF-8.
  return value.dump(2, ' ', false, handler::replace) + "\n";
}

void print_json(const nlohmann::ordered_json& value) { print(json_text(value)); }

void finish_output() {
  if (std::fflush(stdout) != 0) throw_output_error(errno);
}

void require_writable(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const fs::path folder = fs::path(file).parent_path();
      !folder.empty() && !fs::is_directory(folder, ignored))
    throw error(fmt::format("{}: there is no folder {}", file, folder.string()));
  const fs::path target = fs::weakly_canonical(fs::absolute(file, ignored), ignored);  // behind its links
  const bool exists = fs::exists(target, ignored);
  int reason = fs::is_directory(target, ignored) ? EISDIR : 0;
  const auto require_leave = [&reason](const fs::path& path) {
    if (reason == 0 && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) reason = errno;
  };
  if (exists) require_leave(target);
  // What is no regular file (/dev/null) is written to directly, any other beside it first.
  if (!exists || fs::is_regular_file(target, ignored)) require_leave(target.parent_path());
  if (reason != 0)
    throw error(fmt::format("{}: cannot write: {}", file, std::generic_category().message(reason)));
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string counted(std::int64_t number, std::string_view what) {
  return fmt::format("{} {}{}", grouped(number), what, number == 1 ? "" : "s");
}

std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} × {}", grouped(rows), grouped(cols));
}

}  // namespace nz::cli
