#include "output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>

#include "options.hpp"

namespace nz::cli {
namespace {

[[noreturn]] void throw_output_error(int reason) {
  throw error("cannot write to standard output: " + std::generic_category().message(reason));
}

}  // namespace

std::string text_of(const json& value) {
  // A file name need not be UTF-8.
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_output_error(errno);
}

void print_json(const json& value) { print(text_of(value)); }

void finish_output() {
  if (std::fflush(stdout) != 0) throw_output_error(errno);
}

void require_writable(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const fs::path folder = fs::path(file).parent_path();
      !folder.empty() && !fs::is_directory(folder, ignored))
    throw error(fmt::format("{}: there is no folder {}", file, folder.string()));
  const fs::path target = fs::weakly_canonical(fs::absolute(file, ignored), ignored);  // follows links
  const bool exists = fs::exists(target, ignored);
  int reason = fs::is_directory(target, ignored) ? EISDIR : 0;
  const auto require_permission = [&reason](const fs::path& path) {
    if (reason == 0 && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) reason = errno;
  };
  if (exists) require_permission(target);
  // A regular file is written beside its target first; others (/dev/null) are written directly.
  if (!exists || fs::is_regular_file(target, ignored)) require_permission(target.parent_path());
  if (reason != 0)
    throw error(fmt::format("{}: cannot write: {}", file, std::generic_category().message(reason)));
}

bool has_extension(const std::string& file, std::string_view extension) {
  return std::filesystem::path(file).extension() == extension;
}

void require_extension(const std::string& file, std::string_view what,
                       std::initializer_list<std::string_view> of) {
  if (file == "-") return;
  if (std::none_of(of.begin(), of.end(), [&](auto extension) { return has_extension(file, extension); }))
    throw usage_error(fmt::format("{}: {} is written as {}{}{}; use that extension", file, what,
                                  fmt::join(of.begin(), of.end() - 1, ", "), of.size() > 1 ? " or " : "",
                                  *(of.end() - 1)));
  require_writable(file);
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string counted(std::int64_t number, std::string_view what) {
  if (number == 1) return fmt::format("1 {}", what);
  return what.ends_with('y') ? fmt::format("{} {}ies", grouped(number), what.substr(0, what.size() - 1))
                             : fmt::format("{} {}s", grouped(number), what);
}

std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} × {}", grouped(rows), grouped(cols));
}

std::string printable(std::string_view text, char by) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, by);
  return out;
}

}  // namespace nz::cli
