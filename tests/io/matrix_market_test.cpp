#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/io/generate.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/read.hpp>

#include "tests/battery/battery.hpp"
#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using nz::array;
using nz::csr;
using nz::index;
using nz::offset;

const fs::path data = NONZERO_TEST_DATA;

nz::csr<double> read_valid(const std::string& name, nz::matrix_market_info* info = nullptr) {
  auto a = nz::read_matrix_market<double>(data / "valid" / (name + ".mtx"), {}, info);
  validate(a);
  return a;
}

template <class V> csr<V> parse(std::string_view text, int threads = 0) {
  return nz::parse_matrix_market<V>(text, "text", {.threads = threads, .progress = {}});
}

/// A folder of its own for each test, removed afterwards.
class MatrixMarketFiles : public testing::Test {
 protected:
  temporary_folder temporary;
  const fs::path& folder = temporary.path;
};

TEST(MatrixMarket, TakesAnyCaseInTheBannerAndCrlf) {
  const csr<double> wanted{2, 3, {0, 1, 2}, {0, 2}, {1.5, -2}};
  EXPECT_EQ(read_valid("any_case_crlf"), wanted);
}

TEST(MatrixMarket, SkipsCommentsBlankLinesAndBlanks) {
  const csr<double> wanted{2, 2, {0, 1, 2}, {0, 1}, {1, 2}};
  EXPECT_EQ(read_valid("comments_and_blank_lines"), wanted);
}

TEST(MatrixMarket, SumsDuplicatesInFileOrderAndKeepsExplicitZeros) {
  nz::matrix_market_info info;
  // (1e16 + 1) - 1e16 is 0; in another order it would be 1.
  const csr<double> wanted{3, 3, {0, 2, 3, 4}, {0, 1, 1, 0}, {4, 0, 0, 5}};
  EXPECT_EQ(read_valid("any_order_duplicates", &info), wanted);
  EXPECT_EQ(info.entries_in_file, 6);
  EXPECT_EQ(info.duplicates_summed, 2);
}

TEST(MatrixMarket, MirrorsEitherTriangleOfASymmetricFile) {
  nz::matrix_market_info info;
  const csr<double> wanted{3, 3, {0, 2, 3, 5}, {0, 2, 2, 0, 1}, {1, 2, 4, 2, 4}};
  EXPECT_EQ(read_valid("symmetric_both_triangles", &info), wanted);
  EXPECT_EQ(info.entries_in_file, 3);
  EXPECT_EQ(info.symmetry, nz::matrix_market_info::symmetries::symmetric);
}

TEST(MatrixMarket, MirrorsASkewSymmetricFileWithTheOtherSign) {
  const csr<double> wanted{3, 3, {0, 2, 3, 4}, {1, 2, 0, 0}, {-7, 2, 7, -2}};
  EXPECT_EQ(read_valid("skew"), wanted);
}

TEST(MatrixMarket, PatternEntriesAreOnes) {
  const csr<double> wanted{3, 3, {0, 1, 2, 3}, {1, 0, 2}, {1, 1, 1}};
  EXPECT_EQ(read_valid("pattern_symmetric"), wanted);
}

TEST(MatrixMarket, RoundsIntegersThatDoNotFitAsAnyNumberIs) {
  const csr<double> wanted{
      1, 4, {0, 4}, {0, 1, 2, 3}, {-9, 8, 9007199254740992.0, 123456789012345678901234567890.0}};
  EXPECT_EQ(read_valid("integer"), wanted);
}

TEST(MatrixMarket, ReadsEveryWayToWriteANumber) {
  const auto a = read_valid("numbers");
  ASSERT_EQ(a.nnz(), 12);
  EXPECT_EQ(a.val[0], 1000);
  EXPECT_EQ(a.val[1], -0.025);
  EXPECT_TRUE(std::isnan(a.val[2]));
  EXPECT_EQ(a.val[3], std::numeric_limits<double>::infinity());
  EXPECT_EQ(a.val[4], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(a.val[5], 1.5);
  EXPECT_EQ(a.val[6], 0.5);
  EXPECT_EQ(a.val[7], 5);
  EXPECT_EQ(a.val[8], 0);  // too small for a double
  EXPECT_TRUE(std::signbit(a.val[9]));
  EXPECT_EQ(a.val[10], std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(a.val[11], 12);
}

TEST(MatrixMarket, ReadsArraysByColumnAndDropsTheirZerosButNotMinusZero) {
  const csr<double> general{3, 2, {0, 2, 3, 5}, {0, 1, 1, 0, 1}, {1, 4, 5, 3, -0.0}};
  EXPECT_EQ(read_valid("array_general"), general);
  const csr<double> symmetric{3, 3, {0, 3, 5, 7}, {0, 1, 2, 0, 1, 0, 2}, {1, 2, 3, 2, 4, 3, 6}};
  EXPECT_EQ(read_valid("array_symmetric"), symmetric);
  const csr<double> skew{3, 3, {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {-2, -3, 2, -5, 3, 5}};
  EXPECT_EQ(read_valid("array_skew"), skew);
}

TEST(MatrixMarket, ReadsMatricesWithoutEntriesOrRows) {
  EXPECT_EQ(read_valid("no_entries").row_begin, (array<offset>{0, 0, 0, 0, 0}));
  EXPECT_EQ(read_valid("no_rows").cols, 3);
  EXPECT_EQ(read_valid("array_without_values").cols, 7);
}

TEST(MatrixMarket, TheLastLineNeedNotEnd) {
  EXPECT_EQ(read_valid("last_line_without_newline").val.back(), 25);
}

TEST(MatrixMarket, TakesLeadingZerosAndPlusInIndices) {
  const auto a = read_valid("leading_zeros");
  EXPECT_EQ(a.row_length(6), 1);
  EXPECT_EQ(a.row_length(18), 1);
  EXPECT_EQ(a.col, (array<index>{7, 2, 0}));
}

// What each file under invalid/ must be answered with: the line, and the reason.
const std::map<std::string, std::string> invalid{
    {"array_too_few", ":6: the file ends after 3 of 4 entries"},
    {"array_too_many", ":5: an entry past the declared 2"},
    {"banner_missing", ":1: not a Matrix Market file: it starts with '1'"},
    {"banner_misspelt", ":1: not a Matrix Market file: it starts with '%%MatrixMarkt'"},
    {"banner_short", ":1: unknown field nothing: expected 'real', 'integer' or 'pattern'"},
    {"banner_trailing_word", ":1: unexpected 'extra'"},
    {"banner_unknown_field", ":1: unknown field 'quaternion'"},
    {"banner_unknown_layout", ":1: unknown layout 'sparse'"},
    {"banner_unknown_object", ":1: unknown object 'vector'"},
    {"banner_unknown_symmetry", ":1: unknown symmetry 'lopsided'"},
    {"binary_among_entries", ":4: '\?\?\?\?' is not a row number"},
    {"binary_junk", "not a Matrix Market file"},
    {"byte_order_mark", ":1: not a Matrix Market file: it starts with '\?\?\?%%MatrixMarket'"},
    {"carriage_returns_only", ":1: unexpected '1'"},
    {"column_missing", ":3: the column is missing"},
    {"column_too_large", ":3: column 501 exceeds the declared 500"},
    {"column_zero", ":3: column 0: rows and columns count from 1"},
    {"comment_among_entries", ":4: '%' is not a row number"},
    {"complex", ":1: complex matrices are not supported yet"},
    {"empty", ":1: the file is empty"},
    {"entries_too_few", ":5: the file ends after 2 of 3 entries"},
    {"entries_too_many", ":5: an entry past the declared 1"},
    {"hermitian", ":1: complex matrices are not supported yet"},
    {"line_trailing_garbage", ":3: unexpected '1' at the end of the line"},
    {"line_truncated", ":4: the column is missing"},
    {"nul_in_banner", ":1: not a Matrix Market file"},
    {"pattern_array", ":1: an array file cannot be a pattern"},
    {"pattern_skew", ":1: a skew-symmetric file cannot be a pattern"},
    {"pattern_with_value", ":3: unexpected '1'"},
    {"row_fraction", ":3: '1.0' is not a row number"},
    {"row_negative", ":3: row -1 is negative"},
    {"row_not_a_number", ":3: 'x' is not a row number"},
    {"row_past_64_bits", ":3: row 18446744073709551617 exceeds the declared 2"},
    {"row_too_large", ":4: row 3 exceeds the declared 2"},
    {"row_zero", ":3: row 0"},
    {"sizes_absurd_array", ":2: 4611686014132420609 entries are declared"},
    {"sizes_array_without_columns", ":2: 2147483647 x 0 for 0 entries"},
    {"sizes_absurd_entries", ":2: 1000000000000000000 entries are declared"},
    {"sizes_four", ":2: unexpected '7'"},
    {"sizes_fraction", ":2: '2.5' is not a number of rows"},
    {"sizes_hypersparse", ":2: 2147483647 x 2147483647 for 1 entries"},
    {"sizes_too_wide", ":2: 1 x 2000000000 for 1 entries: a table of its columns alone would take 14.9 GiB"},
    {"sizes_missing", ":3: the file ends before the line of sizes"},
    {"sizes_negative", ":2: -2 is a negative number of rows"},
    {"sizes_not_numbers", ":2: 'two' is not a number of rows"},
    {"sizes_past_64_bits", ":2: '99999999999999999999' rows are more than"},
    {"sizes_rows_past_32_bits", ":2: '2147483648' rows are more than the 2147483647 that fit"},
    {"sizes_two", ":2: the number of entries is missing"},
    {"skew_diagonal", ":4: the diagonal entry 2 of a skew-symmetric matrix is not 0"},
    {"symmetric_rectangular", ":2: a symmetric matrix cannot be 2 x 3"},
    {"two_entries_on_a_line", ":3: unexpected '2'"},
    {"value_fraction_in_integer_file", ":3: '1.5' is not a whole number"},
    {"value_hexadecimal", ":3: '0x1p3' is not a number"},
    {"value_missing", ":3: the value is missing"},
    {"value_not_a_number", ":3: 'abc' is not a number"},
    {"value_overflow", ":3: '1e999' overflows double precision"},
    {"value_two_points", ":3: '1.2.3' is not a number"},
    {"value_two_signs", ":3: '+-1' is not a number"},
};

TEST(MatrixMarket, AnswersEveryInvalidFileWithItsLineAndReason) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(data / "invalid")) {
    if (entry.path().extension() != ".mtx") continue;
    SCOPED_TRACE(entry.path().filename());
    ++files;
    ASSERT_TRUE(invalid.contains(entry.path().stem()));
    const std::string& reason = invalid.at(entry.path().stem());
    for (const int threads : {1, 3}) try {
        nz::read_matrix_market<double>(entry.path(), {.threads = threads, .progress = {}});
        ADD_FAILURE() << "was read";
      } catch (const nz::error& e) {
        EXPECT_NE(std::string(e.what()).find(reason), std::string::npos) << e.what();
        EXPECT_EQ(std::string(e.what()).find(entry.path().string()), 0U) << e.what();
      }
  }
  EXPECT_EQ(files, invalid.size());
}

/// What a text is answered with, as a mapped file and as a stream.
std::string refusal_of(const fs::path& file, const std::string& text) {
  std::string answers[2];
  for (const bool is_stream : {false, true}) try {
      std::ofstream(file, std::ios::binary) << text;
      const fs::path fifo = file.native() + ".pipe";
      if (is_stream) {
        EXPECT_EQ(mkfifo(fifo.c_str(), 0600), 0);
        std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << text; });
        try {
          nz::read_matrix_market<double>(fifo);
          answers[1] = "was read";
        } catch (const nz::error& e) {
          answers[1] = std::string(e.what()).substr(fifo.native().size());
        }
        writer.join();
        fs::remove(fifo);
      } else {
        nz::read_matrix_market<double>(file);
        answers[0] = "was read";
      }
    } catch (const nz::error& e) {
      answers[0] = std::string(e.what()).substr(file.native().size());
    }
  EXPECT_EQ(answers[0], answers[1]);
  return answers[0];
}

TEST_F(MatrixMarketFiles, MayHaveLongCommentsButNoHeaderWithoutEnd) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n", end = "1 1 1\n1 1 1\n";
  const auto refusal = [&](const std::string& text) { return refusal_of(folder / "a.mtx", banner + text); };
  const std::string line(200'000, 'x');
  EXPECT_EQ(refusal("% " + line + "\n\n \t\n%\n" + end), "was read");
  EXPECT_EQ(refusal("%" + line + "\n\n%\n1 1 x\n"), ":5: 'x' is not a number of entries");
  EXPECT_EQ(refusal("%" + line), ":3: the file ends before the line of sizes");
  EXPECT_EQ(refusal("%\n1 1" + std::string(70'000, ' ')), ":3: a line of more than 65536 bytes");
  EXPECT_EQ(refusal("%\n" + std::string(70'000, ' ') + "\n" + end), ":3: a line of more than 65536 bytes");
  EXPECT_EQ(refusal("%" + std::string(1, '\0') + "\n" + end), ":2: a NUL byte, which no text has");
  std::string comments;
  while (comments.size() <= 64u << 20) comments += "%" + line + "\n";
  EXPECT_NE(refusal(comments + end).find("there is no line of sizes in the first 67108864 bytes"),
            std::string::npos);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST(MatrixMarket, RefusesABodyThatIsMostlyNothing) {
  const std::string header = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n";
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      parse<double>(header + text);
    } catch (const nz::parse_error& e) {
      return e.what();
    }
    return "was read";
  };
  EXPECT_EQ(refusal(std::string(4 << 20, '\0')), "text:4: a NUL byte, which no text has");
  EXPECT_EQ(refusal("2 2 1" + std::string(4 << 20, ' ') + "\n"), "text:4: a line of more than 1048576 bytes");
  EXPECT_NE(refusal(std::string(100, '\0') + "\n").find("text:4: "), std::string::npos);
  EXPECT_EQ(refusal(std::string(1000, '\n') + "2 2 1\n"), "was read");
}

TEST(MatrixMarket, RefusesWhatOverflowsSinglePrecisionOnly) {
  constexpr std::string_view text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1e300\n";
  EXPECT_EQ(parse<double>(text).val[0], 1e300);
  EXPECT_THROW(parse<float>(text), nz::parse_error);
}

TEST(MatrixMarket, NamesTheLineFarInsideALargeText) {
  // Several blocks of text; the bad line is in a late one, a worse line after it.
  std::string text = "%%MatrixMarket matrix coordinate real general\n9 9 400000\n";
  for (int k = 0; k < 400000; ++k)
    text += k == 300000 ? "1 10 1\n" : k == 350000 ? "junk\n" : "9 9 0.12345678\n";
  for (const int threads : {1, 2, 5}) try {
      parse<double>(text, threads);
      FAIL();
    } catch (const nz::parse_error& e) {
      EXPECT_STREQ(e.what(), "text:300003: column 10 exceeds the declared 9");
    }
}

TEST(MatrixMarket, NamesTheFirstSurplusLineInALargeText) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n9 9 300000\n";
  for (int k = 0; k < 400000; ++k) text += "9 9      \n\n";
  try {
    parse<double>(text, 2);
    FAIL();
  } catch (const nz::parse_error& e) {
    EXPECT_STREQ(e.what(), "text:600003: an entry past the declared 300000");
  }
}

TEST(MatrixMarket, ReportsProgressThatRisesToTheEnd) {
  std::string text = "%%MatrixMarket matrix coordinate pattern general\n9 9 500000\n";
  for (int k = 0; k < 500000; ++k) text += "9 9      \n";
  std::vector<double> seen;
  nz::parse_matrix_market<float>(
      text, "text",
      {.threads = 2, .progress = [&](double fraction) { seen.push_back(fraction); }, .block_bytes = 1 << 20});
  ASSERT_GE(seen.size(), 4U);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), 1);
}

/// 40 rows of 3 entries, in order, one line each.
std::vector<std::string> ordered_lines() {
  std::vector<std::string> lines;
  for (int i = 1; i <= 40; ++i)
    for (int j = 1; j <= 3; ++j) lines.push_back(fmt::format("{} {} {}.25\n", i, 7 * j + i % 5, i - j));
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  return fmt::format("%%MatrixMarket matrix coordinate real general\n40 40 {}\n{}", lines.size(),
                     fmt::join(lines, ""));
}

TEST(MatrixMarket, ReadsTheSameWhereverTheBlocksEnd) {
  const auto in_order = ordered_lines();
  auto swapped_late = in_order;
  std::swap(swapped_late[117], swapped_late[118]);
  auto repeated = in_order;
  repeated.insert(repeated.begin() + 60, repeated[60]);  // the same place twice, one after the other
  auto row_early = in_order;
  std::rotate(row_early.begin() + 30, row_early.begin() + 90, row_early.begin() + 93);
  auto with_gaps = in_order;
  with_gaps.erase(with_gaps.begin(), with_gaps.begin() + 9);  // no entries in the first rows,
  with_gaps.erase(with_gaps.begin() + 30, with_gaps.begin() + 60);
  with_gaps.erase(with_gaps.end() - 9, with_gaps.end());  // among the others, and in the last
  auto blank = in_order;
  blank[50] += "\n";
  for (const auto& lines : {in_order, swapped_late, repeated, row_early, with_gaps, blank}) {
    const std::string text = text_of(lines);
    std::map<std::pair<int, int>, double> wanted;
    for (const auto& line : lines) {
      int i = 0, j = 0;
      double v = 0;
      ASSERT_EQ(std::sscanf(line.c_str(), "%d %d %lf", &i, &j, &v), 3);
      wanted[{i - 1, j - 1}] += v;
    }
    for (const std::size_t block_bytes : {1, 10, 23, 64, 200, 1 << 20})
      for (const int threads : {1, 3}) {
        const auto a =
            nz::parse_matrix_market<double>(text, "text", {.threads = threads, .block_bytes = block_bytes});
        validate(a);
        std::map<std::pair<int, int>, double> found;
        for (index i = 0; i < a.rows; ++i)
          for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) found[{i, a.col[k]}] = a.val[k];
        EXPECT_EQ(found, wanted) << "blocks of " << block_bytes;
        EXPECT_EQ(a.nnz(), static_cast<offset>(wanted.size()));
      }
  }
}

TEST(MatrixMarket, ProgressNeverFallsBackWhenTheLastLineIsOutOfOrder) {
  auto lines = ordered_lines();
  std::rotate(lines.begin(), lines.begin() + 1, lines.end());
  std::vector<double> seen;
  const auto note = [&](double fraction) { seen.push_back(fraction); };
  nz::parse_matrix_market<double>(text_of(lines), "text",
                                  {.threads = 1, .progress = note, .block_bytes = 50});
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), 1);
}

template <class V> void expect_identical(const csr<V>& a, const csr<V>& b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  ASSERT_EQ(a.row_begin, b.row_begin);
  ASSERT_EQ(a.col, b.col);
  for (std::size_t k = 0; k < a.val.size(); ++k)
    ASSERT_TRUE(std::memcmp(&a.val[k], &b.val[k], sizeof(V)) == 0 ||
                (std::isnan(a.val[k]) && std::isnan(b.val[k])));
}

TEST_F(MatrixMarketFiles, WrittenOnesReadBackBitIdentical) {
  const auto round_trip = [&]<class V>(const csr<V>& a) {
    write_matrix_market(folder / "a.mtx", a);
    for (const int threads : {1, 3})
      expect_identical(nz::read_matrix_market<V>(folder / "a.mtx", {.threads = threads, .progress = {}}), a);
  };
  for (const auto& [name, a] : battery::matrices<double>())
    if (name != "unsorted, with duplicates" && name != "NaN and infinity") round_trip(a);
  for (const auto& [name, a] : battery::matrices<float>())
    if (name != "unsorted, with duplicates" && name != "NaN and infinity") round_trip(a);
  constexpr double inf = std::numeric_limits<double>::infinity();
  round_trip(csr<double>{2,
                         5,
                         {0, 5, 8},
                         {0, 1, 2, 3, 4, 0, 1, 2},
                         {inf, -inf, -0.0, 4.9406564584124654e-324, 1.7976931348623157e308, 0.1, 1e5, NAN}});
}

TEST_F(MatrixMarketFiles, VectorsReadBackBitIdentical) {
  const auto x = battery::numbers<double>(100000, 8);
  nz::write_vector<double>(folder / "x.mtx", x);
  EXPECT_EQ(nz::read_vector<double>(folder / "x.mtx"), x);
  nz::write_vector<float>(folder / "none.mtx", {});
  EXPECT_TRUE(nz::read_vector<float>(folder / "none.mtx").empty());
  EXPECT_THROW(nz::read_vector<double>(data / "valid" / "skew.mtx"), nz::shape_error);
}

TEST_F(MatrixMarketFiles, RefusesFoldersMissingFilesAndUnreadableOnes) {
  const auto reason = [](const fs::path& path) -> std::string {
    try {
      nz::read_matrix_market<double>(path);
      return "was read";
    } catch (const nz::parse_error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(reason(folder), folder.string() + ": Is a directory");
  EXPECT_EQ(reason(folder / "none.mtx"), (folder / "none.mtx").string() + ": No such file or directory");
  std::ofstream(folder / "secret.mtx") << "%%MatrixMarket";
  fs::permissions(folder / "secret.mtx", fs::perms::none);
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  EXPECT_EQ(reason(folder / "secret.mtx"), (folder / "secret.mtx").string() + ": Permission denied");
}

TEST_F(MatrixMarketFiles, AFailedWriteLeavesTheOldFile) {
  std::ofstream(folder / "old.mtx") << "old";
  EXPECT_THROW(nz::write_matrix_market(folder / "missing" / "a.mtx", csr<double>{}), nz::error);
  EXPECT_THROW(nz::write_matrix_market(folder, csr<double>{}), nz::error);
  std::string content;
  std::ifstream(folder / "old.mtx") >> content;
  EXPECT_EQ(content, "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

}  // namespace
