#pragma once

#include <stdexcept>

namespace nz::cli {

/// The command line asks for what cannot be: exit status 2. Everything else that is thrown is status 1.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command did its work, and what it found is bad: exit status 1.
struct failed_run : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace nz::cli
