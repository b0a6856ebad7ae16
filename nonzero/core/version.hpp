#pragma once

#include <string_view>

// The version of Nonzero, for the preprocessor and for programs. CMakeLists.txt reads it from here.
#define NONZERO_VERSION_MAJOR 0
#define NONZERO_VERSION_MINOR 1
#define NONZERO_VERSION_PATCH 0

namespace nz {

#define NONZERO_TEXT_OF(x) #x
#define NONZERO_JOIN(major, minor, patch) \
  NONZERO_TEXT_OF(major) "." NONZERO_TEXT_OF(minor) "." NONZERO_TEXT_OF(patch)
/// The version of these headers, "0.1.0".
inline constexpr std::string_view version_string =
    NONZERO_JOIN(NONZERO_VERSION_MAJOR, NONZERO_VERSION_MINOR, NONZERO_VERSION_PATCH);
#undef NONZERO_JOIN
#undef NONZERO_TEXT_OF

/// The version of the library that the program is linked with. It differs from version_string where headers
/// and library come from different installations.
std::string_view version();

}  // namespace nz
