#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// An empty optional becomes null.
template <class T> struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& to, const std::optional<T>& value) {
    to = value ? ordered_json(*value) : ordered_json();
  }
};

namespace nz::cli {

/// A JSON value to print. Objects keep the order of their fields; NaN and infinities become null.
using json = nlohmann::ordered_json;
/// On several lines, with a newline at the end.
std::string text_of(const json& value);

/// Writes to standard output; throws `nz::error` with the system's reason if that fails.
void print(std::string_view text);
void print_json(const json& value);
/// Flushes standard output, and throws if not all of it could be written.
void finish_output();

/// Throws `nz::error` where a file cannot be written there, as far as that is known beforehand: no such
/// folder, it is a folder, or no permission. Call it before the work.
void require_writable(const std::string& file);
/// Throws `usage_error` unless the name has one of these extensions, and what `require_writable` throws; "-"
/// passes. `what` begins the message: "a plot".
void require_extension(const std::string& file, std::string_view what,
                       std::initializer_list<std::string_view> of);
bool has_extension(const std::string& file, std::string_view extension);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
/// "1 page", "1,138 pages", "2 entries".
std::string counted(std::int64_t number, std::string_view what);
/// "1,138 × 1,138".
std::string shape_text(std::int64_t rows, std::int64_t cols);
/// The text without control characters, each replaced by `by`.
std::string printable(std::string_view text, char by = ' ');

}  // namespace nz::cli
