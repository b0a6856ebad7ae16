#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace nz::cli {

/// A JSON value to print: the one way to print JSON. Only output.cpp includes the JSON library. Objects keep
/// the order of their fields; NaN and infinities become null.
class json {
 public:
  struct field;
  json(std::nullptr_t = nullptr);
  json(bool value);
  json(int value);
  json(std::int64_t value);
  json(std::uint64_t value);
  json(double value);
  json(const char* value);
  json(std::string_view value);
  json(const std::string& value) : json(std::string_view(value)) {}
  json(const std::vector<json>& values);
  json(std::initializer_list<field> fields);
  template <class T> json(const std::optional<T>& value) : json(value ? json(*value) : json()) {}
  json(const json& other);
  json(json&& other) noexcept;
  json& operator=(json other) noexcept;
  ~json();

  /// Adds a field to an object.
  void set(const std::string& key, const json& value);
  /// On several lines, with a newline at the end.
  std::string text() const;

 private:
  std::unique_ptr<nlohmann::ordered_json> value_;
};

struct json::field {
  const char* key;
  json value;
};

/// Writes to standard output; throws `nz::error` with the system's reason if that fails.
void print(std::string_view text);
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
