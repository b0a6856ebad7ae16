#include <nonzero/core/version.hpp>

namespace nz {

std::string_view version() { return version_string; }

}  // namespace nz
