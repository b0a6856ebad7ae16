#include <algorithm>
#include <clocale>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/edge_list.hpp>
#include <nonzero/io/read.hpp>

#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using numbers = std::vector<double>;

class VectorFile : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::string refusal(const std::string& name, const std::string& text) {
    const fs::path path = write(name, text);
    try {
      nz::read_vector<float>(path);
    } catch (const nz::error& e) {
      return std::string(e.what()).substr(path.string().size());
    }
    return "was read";
  }
  temporary_folder temporary_;
  const fs::path& folder_ = temporary_.path;
};

TEST_F(VectorFile, ReadsBackWhatItWroteInEveryFormat) {
  const numbers x{1, -0.0, 0.1, 1e300, 5e-324, std::numeric_limits<double>::infinity()};
  for (const char* name : {"x.mtx", "x.npy", "x.npz", "x.txt"}) {
    SCOPED_TRACE(name);
    nz::write_vector_file<double>(folder_ / name, x);
    EXPECT_EQ(nz::read_vector<double>(folder_ / name), x);
    nz::write_vector_file<double>(folder_ / name, {});
    EXPECT_TRUE(nz::read_vector<double>(folder_ / name).empty());
  }
}

TEST_F(VectorFile, IsKnownByItsContentAndNotByItsName) {
  nz::write_vector_file<double>(folder_ / "x.npy", numbers{1, 2});
  fs::rename(folder_ / "x.npy", folder_ / "x.dat");
  EXPECT_EQ(nz::read_vector<double>(folder_ / "x.dat"), (numbers{1, 2}));
  EXPECT_FALSE(nz::is_edge_list(folder_ / "x.dat"));
  EXPECT_EQ(nz::read_vector<float>(write("y", "%%MatrixMarket matrix array real general\n2 1\n3\n4\n")),
            (std::vector<float>{3, 4}));
}

TEST_F(VectorFile, MayBeAnyTextOfNumbers) {
  const auto path = write("x.txt", "# two, then\n1 +2\t-3e1,4\r\n\n5;6 % and a comment\nnan");
  const numbers x = nz::read_vector<double>(path);
  ASSERT_EQ(x.size(), 7U);
  EXPECT_EQ(numbers(x.begin(), x.begin() + 6), (numbers{1, 2, -30, 4, 5, 6}));
  EXPECT_TRUE(std::isnan(x[6]));
}

TEST_F(VectorFile, MayComeThroughAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* text : {"1\n2\n", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n"}) {
    std::thread writer([&] { std::ofstream(pipe) << text; });
    EXPECT_EQ(nz::read_vector<double>(pipe), (numbers{1, 2}));
    writer.join();
  }
}

TEST_F(VectorFile, SaysWhereTextIsNoNumber) {
  EXPECT_EQ(refusal("x.txt", "1\n2 two\n"), ":2: 'two' is not a number");
  EXPECT_EQ(refusal("x.txt", "1e39"), ":1: '1e39' is too large for a float");
  EXPECT_EQ(refusal("x.txt", "1e999"), ":1: '1e999' is too large for a float");
  EXPECT_EQ(refusal("x.txt", "1 +-5"), ":1: '+-5' is not a number");
  EXPECT_EQ(refusal("x.txt", "1 1e5e5#\n"), ":1: '1e5e5' is not a number");
  EXPECT_EQ(refusal("x.txt", ""), ":1: the file is empty");
  EXPECT_EQ(refusal("x.txt", "-").substr(0, 8), ":1: '-' ");
  EXPECT_NE(refusal("x.mtx", "1\n2\n"), "was read");  // what calls itself Matrix Market has to be that
}

TEST_F(VectorFile, MissesNoNumberBetweenCommas) {
  for (const char* text : {"1,,2\n", "1 , ,2", ",1", "1\n,2", "1,;2", "1,#\n,2"})
    EXPECT_NE(refusal("x.txt", text).find("there is no number before a"), std::string::npos) << text;
  EXPECT_EQ(refusal("x.txt", "1\n2,,3\n"), ":2: there is no number before a ','");
  for (const char* text : {"1, 2,\n3,\n", "1;2\n3", "1 ,2 # ,,\n3"})
    EXPECT_EQ(nz::read_vector<double>(write("x.txt", text)), (numbers{1, 2, 3})) << text;
}

TEST_F(VectorFile, ShowsWhatIsNoText) {
  EXPECT_EQ(refusal("x.txt", "1 \xff"), ":1: '?' is not a number");
  EXPECT_NE(refusal("x.txt",
                    "\xEF\xBB\xBF"
                    "1"),
            "was read");
}

// It is read in chunks of 1 MiB, which end in the middle of numbers, comments and lines.
TEST_F(VectorFile, MayBeLong) {
  std::string text;
  numbers x;
  for (int i = 0; text.size() < (std::size_t{5} << 20); ++i) {
    x.push_back(i * 0.37);
    text += std::to_string(i * 37) + "e-2";
    text += i % 1000 == 0 ? " # a comment, 1 2 3\n" : i % 7 == 0 ? "\n" : " ";
  }
  const numbers found = nz::read_vector<double>(write("x.txt", text));
  ASSERT_EQ(found.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_DOUBLE_EQ(found[i], x[i]) << i;
  const std::string lines = std::to_string(std::count(text.begin(), text.end(), '\n') + 1);
  EXPECT_EQ(refusal("x.txt", text + " two"), ":" + lines + ": 'two' is not a number");
}

TEST_F(VectorFile, RefusesTextWithoutNumbersAndWordsWithoutEnd) {
  const std::string word(std::size_t{3} << 20, '1');
  EXPECT_EQ(refusal("x.txt", "1\n" + word), ":2: '" + word.substr(0, 40) + "…' is not a number");
  for (const char* blank : {"\n", " ", "#"}) {
    std::string text = "1\n";
    while (text.size() < (std::size_t{70} << 20)) text += std::string(std::size_t{1} << 20, blank[0]);
    EXPECT_NE(refusal("x.txt", text).find("bytes of comments and blank lines in a row"), std::string::npos);
  }
}

// The text of numbers that a locale writes with a comma is not that of files.
TEST_F(VectorFile, IsReadInTheSameWayInEveryLocale) {
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "there is no locale de_DE";
  const numbers x = nz::read_vector<double>(write("x.txt", "1.5e-400 2.5"));
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(x, (numbers{0, 2.5}));
}

TEST_F(VectorFile, RefusesAnArrayThatIsNoVector) {
  const auto array = [](const std::string& shape) {
    std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(118, ' ');
    header.back() = '\n';
    return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(4 * sizeof(double), '\0');
  };
  for (const char* shape : {"(4,)", "(4, 1)", "(1, 4)"})
    EXPECT_EQ(nz::read_vector<double>(write("x.npy", array(shape))), numbers(4, 0.0)) << shape;
  EXPECT_NE(refusal("x.npy", array("(2, 2)")).find("2 x 2 is no vector"), std::string::npos);
  EXPECT_NE(refusal("x.npy", array("(5,)")).find("ends after 4 of the 5"), std::string::npos);
  EXPECT_NE(refusal("x.npy", array("(3,)")).find("goes on after"), std::string::npos);
}

}  // namespace
