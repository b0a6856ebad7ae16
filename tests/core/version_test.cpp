#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/version.hpp>

namespace {

TEST(Version, IsTheSameInHeaderAndLibrary) {
  const std::string expected = std::to_string(NONZERO_VERSION_MAJOR) + "." +
                               std::to_string(NONZERO_VERSION_MINOR) + "." +
                               std::to_string(NONZERO_VERSION_PATCH);
  EXPECT_EQ(nz::version_string, expected);
  EXPECT_EQ(nz::version(), expected);
}

}  // namespace
