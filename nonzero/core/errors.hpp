#pragma once

#include <stdexcept>
#include <string>

namespace nz {

/// What every exception of this library derives from. A message says what, where and what next.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A file, a text or a stream does not hold what it should: `web.mtx:1043: column 501 exceeds the declared
/// 500`.
struct parse_error : error {
  using error::error;
};

/// Sizes that do not fit together, or data that breaks a format's invariants.
struct shape_error : error {
  using error::error;
};

/// A device is missing, out of memory, or failed.
struct device_error : error {
  using error::error;
};

/// Understood, but not to be had: a format this matrix would blow up in, a kernel that is not built, a
/// complex file.
struct unsupported : error {
  using error::error;
};

}  // namespace nz
