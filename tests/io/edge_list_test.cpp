#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include <nonzero/io/edge_list.hpp>

#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using nz::csr;
using strings = std::vector<std::string>;

nz::edge_list<double> parse(std::string_view text) { return nz::parse_edge_list<double>(text, "web.txt"); }

/// What is said of a text that is refused.
std::string refusal(std::string_view text) {
  try {
    parse(text);
  } catch (const nz::parse_error& e) {
    return e.what();
  }
  return "read";
}

TEST(EdgeList, NumbersPagesByTheirNumbersWhereAllAreSuch) {
  const auto found =
      parse("# Directed graph\n# FromNodeId\tToNodeId\n30\t7\n7\t1000000000000\n30\t1000000000000\n");
  EXPECT_EQ(found.names, (strings{"7", "30", "1000000000000"}));
  EXPECT_EQ(found.links, (csr<double>{3, 3, {0, 1, 3, 3}, {2, 0, 2}, {1, 1, 1}}));
}

TEST(EdgeList, NumbersPagesAsTheyAppearWhereANameIsNoNumber) {
  for (const char* other : {"b", "007", "-1", "1.5", "18446744073709551616", "ünï"}) {
    const auto found = parse(std::string("9 ") + other + "\n2 9\n");
    EXPECT_EQ(found.names, (strings{"9", other, "2"}));
    EXPECT_EQ(found.links, (csr<double>{3, 3, {0, 1, 1, 2}, {1, 0}, {1, 1}})) << other;
  }
}

TEST(EdgeList, AddsUpTheWeightsOfRepeatedLinks) {
  const auto found = parse("a b 2.5\nb a\na b 1e1\n");
  EXPECT_EQ(found.links, (csr<double>{2, 2, {0, 1, 2}, {1, 0}, {12.5, 1}}));
}

TEST(EdgeList, TakesBlanksBlankLinesCrlfCommentsAndNoLastNewline) {
  const auto found = parse("\r\n  # a\n% b\n \t a \t b \r\n\n#\n\tb a");
  EXPECT_EQ(found.names, (strings{"a", "b"}));
  EXPECT_EQ(found.links.nnz(), 2);
}

TEST(EdgeList, OfNoLinksIsAnEmptyGraph) {
  for (const char* text : {"", "\n", "# nothing\n", "#"}) {
    const auto found = parse(text);
    EXPECT_TRUE(found.names.empty());
    EXPECT_EQ(found.links, (csr<double>{}));
  }
}

TEST(EdgeList, SaysWhichLineIsWrongAndHow) {
  EXPECT_EQ(
      refusal("a b\n#\na\n"),
      "web.txt:3: there is one word; a line of an edge list is two names, and a weight if any; separate "
      "them by blanks or tabs");
  EXPECT_NE(refusal("a b 1 2\n").find("web.txt:1: there are more words"), std::string::npos);
  EXPECT_NE(refusal("a b x\n").find("web.txt:1: 'x' is no weight"), std::string::npos);
  EXPECT_NE(refusal("a b 1x\n").find("'1x' is no weight"), std::string::npos);
  EXPECT_NE(refusal("a b\nc \x1b[31m\n").find("web.txt:2: there is a control character"), std::string::npos);
  EXPECT_NE(refusal(std::string_view("a \0\n", 4)).find("a control character"), std::string::npos);
  EXPECT_NE(refusal("%%MatrixMarket matrix coordinate pattern general\n1 1 0\n").find("a Matrix Market file"),
            std::string::npos);
}

TEST(EdgeList, RefusesAWeightThatOverflowsSinglePrecisionOnly) {
  for (const char* text : {"a b 1e300\n", "a b -1e39\n", "a b 3.4028236e38\n"}) {
    EXPECT_NO_THROW(parse(text));
    try {
      nz::parse_edge_list<float>(text, "web.txt");
      ADD_FAILURE() << "was read: " << text;
    } catch (const nz::parse_error& e) {
      EXPECT_NE(std::string_view(e.what()).find("overflows single precision"), std::string_view::npos);
    }
  }
  EXPECT_EQ(nz::parse_edge_list<float>("a b 3.4028235e38\n", "").links.val[0],
            std::numeric_limits<float>::max());
  EXPECT_EQ(nz::parse_edge_list<float>("a b 1e-60\n", "").links.val[0], 0.0F);
  EXPECT_EQ(nz::parse_edge_list<float>("a b inf\n", "").links.val[0], std::numeric_limits<float>::infinity());
  EXPECT_NE(refusal("a b 1e999\n").find("'1e999' overflows double precision"), std::string::npos);
}

TEST(EdgeList, IsReadFromAFileInPortionsAsFromOneText) {
  // Longer than what is read at a time; names first seen in every portion, and comments between.
  std::string text = "# " + std::string(900'000, 'x') + "\n";
  for (int k = 0; k < 200'000; ++k)
    text += 'p' + std::to_string(k / 2) + "\tp" + std::to_string(k * 7919 % 100'000) + '\n';
  const temporary_folder folder;
  std::ofstream(folder.path / "edges") << text;
  const auto from_file = nz::read_edge_list<double>(folder.path / "edges");
  const auto from_text = parse(text);
  EXPECT_EQ(from_file.names, from_text.names);
  EXPECT_EQ(from_file.links, from_text.links);
}

// Of a file that is no list, or has no end, only the begin is read.
TEST(EdgeList, RefusesLinesAndCommentsWithoutEnd) {
  const temporary_folder folder;
  const auto refusal_of = [&](const std::string& text) -> std::string {
    std::ofstream(folder.path / "edges") << text;
    try {
      nz::read_edge_list<double>(folder.path / "edges");
    } catch (const nz::parse_error& e) {
      return e.what();
    }
    return "read";
  };
  EXPECT_NE(refusal_of("a b\n" + std::string(1 << 20, 'x')).find("a line of more than"), std::string::npos);
  EXPECT_NE(refusal_of(std::string("a b\n# \0\n", 8)).find("a NUL byte"), std::string::npos);
  std::string comments = "a b\n";
  while (comments.size() <= 65u << 20) comments += "#" + std::string(99, ' ') + "\n";
  EXPECT_NE(refusal(comments).find("comments and blank lines in a row"), std::string::npos);
  EXPECT_THROW(nz::read_text("/dev/zero"), nz::parse_error);
}

TEST(EdgeList, IsReadInManyListsAsInOne) {
  // More lines than are assembled at a time.
  std::string text;
  constexpr int pages = 1 << 10, lines = (1 << 20) + 5;
  for (int k = 0; k < lines; ++k)
    text += std::to_string(k % pages) + ' ' + std::to_string((k / pages) % pages) + '\n';
  const auto found = parse(text);
  validate(found.links);
  EXPECT_EQ(found.links.nnz(), std::int64_t{pages} * pages);
  EXPECT_EQ(found.links.val[0], 2.0);
  EXPECT_EQ(found.links.val[static_cast<std::size_t>(pages) * 5], 1.0);
}

TEST(EdgeList, IsToldFromAMatrixByItsText) {
  const temporary_folder folder;
  const fs::path file = folder.path / "edges";
  const auto is_edge_list = [&](std::string_view text) {
    std::ofstream(file) << text;
    return nz::is_edge_list(file);
  };
  EXPECT_TRUE(is_edge_list("# SNAP\n1 2\n"));
  EXPECT_TRUE(is_edge_list("a b\n"));
  EXPECT_TRUE(is_edge_list("a"));
  EXPECT_FALSE(is_edge_list("%%MatrixMarket matrix coordinate pattern general\n1 1 0\n"));
  EXPECT_FALSE(is_edge_list("%%matrixMARKET matrix"));
  std::ofstream(file) << "x y\n";
  EXPECT_EQ(nz::read_edge_list<float>(file).names, (strings{"x", "y"}));
  fs::remove(file);
  EXPECT_THROW(nz::read_edge_list<float>(file), nz::parse_error);
}

TEST(NamedWeights, AreANameAndAWeightOrOne) {
  const auto found = nz::parse_named_weights("# home\na 0.5\nb\n", "home.txt");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[0].weight, 0.5);
  EXPECT_EQ(found[1].weight, 1.0);
  EXPECT_THROW(nz::parse_named_weights("a b c\n", "home.txt"), nz::parse_error);
  EXPECT_THROW(nz::parse_named_weights("a b\n", "home.txt"), nz::parse_error);
}

}  // namespace
