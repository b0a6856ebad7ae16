#pragma once

#include <stdexcept>
#include <string>

#include <nonzero/core/counted.hpp>
#include <nonzero/core/types.hpp>

namespace nz {

/// The base of every exception of this library. A message says what, where and what next.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Malformed input: `web.mtx:1043: column 501 exceeds the declared 500`.
struct parse_error : error {
  using error::error;
};

/// Sizes that do not match, or data that breaks a format's invariants.
struct shape_error : error {
  using error::error;
};

/// A device is missing, out of memory, or failed.
struct device_error : error {
  using error::error;
};

/// Valid, but not available: a format with too much padding for this matrix, a kernel that is not built, a
/// complex file.
struct unsupported : error {
  using error::error;
};

/// Throws `shape_error` unless x has the matrix's columns and y its rows.
inline void require_vectors_fit(index rows, index cols, std::size_t x_length, std::size_t y_length) {
  const auto require = [](const char* name, std::size_t length, index wanted, const char* what) {
    if (length != static_cast<std::size_t>(wanted))
      throw shape_error(name + (" is " + std::to_string(length)) + " long but the matrix has " +
                        counted(wanted, what));
  };
  require("x", x_length, cols, "column");
  require("y", y_length, rows, "row");
}

}  // namespace nz
