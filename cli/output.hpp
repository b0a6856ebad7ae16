#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace nz::cli {

/// Writes to standard output; throws `nz::error` with the system's reason if that fails.
void print(std::string_view text);
/// On several lines. NaN and infinities come out as null, as JSON knows neither.
std::string json_text(const nlohmann::ordered_json& value);
void print_json(const nlohmann::ordered_json& value);
/// Flushes what was printed, and throws if it could not all be written.
void finish_output();

/// Throws `nz::error` where a file cannot be written there, as far as can be told before it is: there is no
/// such folder, it is a folder, or it may not be written. To be called before any work is done.
void require_writable(const std::string& file);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
/// "1 page", "1,138 pages".
std::string counted(std::int64_t number, std::string_view what);
/// "1,138 × 1,138".
std::string shape_text(std::int64_t rows, std::int64_t cols);

}  // namespace nz::cli
