#include <cli/output.hpp>
#include <gtest/gtest.h>

namespace {

using nz::cli::shorten_label;

TEST(ProgressLabel, KeepsItsVerbAndTheEndOfTheName) {
  EXPECT_EQ(shorten_label("reading web.mtx", 15), "reading web.mtx");
  EXPECT_EQ(shorten_label("reading a/long/folder/web.mtx", 17), "reading …/web.mtx");
  EXPECT_EQ(shorten_label("solving web.mtx", 9), "solving …");
  EXPECT_EQ(shorten_label("solving web.mtx", 4), "solv");
  EXPECT_EQ(shorten_label("heat", 2), "he");
  EXPECT_EQ(shorten_label("heat", 0), "");
}

TEST(ProgressLabel, CutsNoCharacterInTwo) {
  EXPECT_EQ(shorten_label("reading some/folder/ä.mtx", 14), "reading ….mtx");
}

}  // namespace
