#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
const fs::path data = NONZERO_TEST_DATA;

/// A folder for one test, gone afterwards.
class Npz : public testing::Test {
 protected:
  temporary_folder temporary_;
  const fs::path& folder_ = temporary_.path;
};

/// The matrix that most fixtures hold.
template <class V> nz::csr<V> lecture_matrix(V last = V(1.5)) {
  return {4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, last}};
}

std::string message_of(const fs::path& path) {
  try {
    nz::read_npz<double>(path);
  } catch (const nz::error& e) {
    return e.what();
  }
  return "no error";
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T> bool same_bits(const nz::array<T>& a, const nz::array<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class V> void expect_identical(const nz::csr<V>& a, const nz::csr<V>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.row_begin, b.row_begin);
  EXPECT_EQ(a.col, b.col);
  EXPECT_TRUE(same_bits(a.val, b.val));
}

TEST_F(Npz, ReadsEveryWayOfStoringTheSameMatrix) {
  for (const char* name : {"csr", "csr_compressed", "csr_array", "csc", "csc_compressed", "coo",
                           "csr_float32", "csr_int64_indices", "csr_int64_indptr_only", "coo_int64_indices",
                           "csr_unsorted", "csr_reversed_members", "csr_extra_members", "csr_npy_version_2_3",
                           "csr_unicode_format", "csr_unsigned_indices", "csr_int32_shape"}) {
    SCOPED_TRACE(name);
    const fs::path path = data / "valid" / (std::string(name) + ".npz");
    for (int threads : {1, 2}) {
      expect_identical(nz::read_npz<double>(path, {.threads = threads}), lecture_matrix<double>());
      expect_identical(nz::read_npz<float>(path, {.threads = threads}), lecture_matrix<float>());
    }
  }
}

TEST_F(Npz, ConvertsIntegersOfEveryWidth) {
  const nz::array<double> doubled{6, 2, 4, 8, 2, 2, 3};
  for (const char* type : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
    EXPECT_EQ(nz::read_npz<double>(data / "valid" / ("csr_" + std::string(type) + ".npz")).val, doubled)
        << type;
}

TEST_F(Npz, ReadsBooleansAsOnes) {
  EXPECT_EQ(nz::read_npz<double>(data / "valid/csr_bool.npz").val, nz::array<double>(7, 1.0));
}

TEST_F(Npz, SumsDuplicatesInStoredOrder) {
  // (1e16 + 1) + 1 = 1e16, while 1e16 + (1 + 1) is 1e16 + 2.
  EXPECT_EQ(nz::read_npz<double>(data / "valid/csr_duplicates.npz").val, nz::array<double>{1e16});
  const auto a = nz::read_npz<double>(data / "valid/coo_duplicates.npz");
  EXPECT_EQ(a, (nz::csr<double>{2, 2, {0, 1, 2}, {1, 0}, {1e16, 5}}));
}

TEST_F(Npz, ReadsMatricesWithoutEntries) {
  EXPECT_EQ(nz::read_npz<double>(data / "valid/csr_empty.npz"), nz::csr<double>{});
  EXPECT_EQ(nz::read_npz<double>(data / "valid/csc_no_entries.npz"),
            (nz::csr<double>{5, 3, {0, 0, 0, 0, 0, 0}, {}, {}}));
  EXPECT_EQ(nz::read_npz<double>(data / "valid/coo_no_entries.npz"),
            (nz::csr<double>{3, 5, {0, 0, 0, 0}, {}, {}}));
}

TEST_F(Npz, EveryValidFileReadsAndPassesValidation) {
  int files = 0;
  for (const auto& file : fs::directory_iterator(data / "valid")) {
    if (file.path().extension() != ".npz") continue;
    SCOPED_TRACE(file.path());
    EXPECT_NO_THROW(nz::validate(nz::read_npz<float>(file.path())));
    ++files;
  }
  EXPECT_GE(files, 25);
}

TEST_F(Npz, RefusesEveryInvalidFileNamingIt) {
  int files = 0;
  for (const auto& file : fs::directory_iterator(data / "invalid")) {
    if (file.path().extension() != ".npz") continue;
    SCOPED_TRACE(file.path());
    EXPECT_TRUE(message_of(file.path()).starts_with(file.path().native() + ": ")) << message_of(file.path());
    EXPECT_THROW(nz::read_npz<float>(file.path(), {.threads = 2}), nz::error);
    ++files;
  }
  EXPECT_GE(files, 80);
}

TEST_F(Npz, SaysWhichMemberIsWrongAndHow) {
  const auto expect = [](const std::string& name, const std::string& reason) {
    const fs::path path = data / "invalid" / (name + ".npz");
    EXPECT_EQ(message_of(path), path.native() + ": " + reason);
  };
  expect("column_too_large",
         "member indices.npy: element 4, counted from 1, is 4, outside a matrix that has 4 there");
  expect("column_past_2_31",
         "member indices.npy: element 4, counted from 1, is 4294967298, which no 32-bit integer holds");
  expect("indptr_falls", "member indptr.npy: it falls from 5 to 2 at element 3, counted from 1");
  expect("indptr_ends_late", "member indptr.npy: it ends at 8, but indices.npy has 7 elements");
  expect("data_truncated", "member data.npy: it ends after 6 of the 7 elements it declares");
  expect("duplicate_member", "member data.npy: it is there twice");
  expect("missing_shape", "member shape.npy is missing; is this a matrix that scipy.sparse.save_npz wrote?");
  expect("not_a_zip", "not a zip file, as every .npz is");
  expect("npy_count_10_18",
         "member data.npy: it declares 1000000000000000000 elements of 8 bytes, but is only 142 bytes long");
}

TEST_F(Npz, CallsUnsupportedWhatSciPyCanWriteButWeDoNotRead) {
  for (const char* name : {"format_bsr", "format_dia", "bsr_by_scipy", "dia_by_scipy", "data_complex",
                           "data_big_endian", "data_half", "shape_past_2_31", "coo_hypersparse"})
    EXPECT_THROW(nz::read_npz<double>(data / "invalid" / (std::string(name) + ".npz")), nz::unsupported)
        << name;
}

TEST_F(Npz, RefusesAFileThatIsMissingOrADirectory) {
  EXPECT_EQ(message_of(folder_ / "none.npz"), (folder_ / "none.npz: No such file or directory").native());
  EXPECT_EQ(message_of(folder_), folder_.native() + ": Is a directory");
}

TEST_F(Npz, RefusesADoubleThatNoFloatHolds) {
  const auto write = [&](double value) {
    nz::write_npz(folder_ / "a.npz", nz::csr<double>{1, 1, {0, 1}, {0}, {value}});
    return nz::read_npz<float>(folder_ / "a.npz").val.at(0);
  };
  EXPECT_THROW(write(1e39), nz::parse_error);
  EXPECT_THROW(write(-1e39), nz::parse_error);
  EXPECT_EQ(write(3.4028234e38), std::numeric_limits<float>::max());
  EXPECT_EQ(write(3.4028235e38), std::numeric_limits<float>::max());  // the shortest text of that float
  EXPECT_THROW(write(3.4028236e38), nz::parse_error);
  EXPECT_EQ(write(-INFINITY), -INFINITY);
  EXPECT_EQ(write(1e-60), 0.0f);
  EXPECT_TRUE(std::isnan(write(NAN)));
}

template <class V> std::vector<nz::csr<V>> round_trip_matrices() {
  using bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
  const V quiet = std::numeric_limits<V>::quiet_NaN();
  const V payload = std::bit_cast<V>(static_cast<bits>(std::bit_cast<bits>(quiet) | 0x1234));
  const V inf = std::numeric_limits<V>::infinity();
  std::vector<nz::csr<V>> all{
      {},
      {0, 5, {0}, {}, {}},
      {5, 0, {0, 0, 0, 0, 0, 0}, {}, {}},
      {2, 3, {0, 0, 0}, {}, {}},
      lecture_matrix<V>(),
      {2, 3, {0, 3, 4}, {0, 1, 2, 1}, {payload, V(-0.0), -inf, std::numeric_limits<V>::denorm_min()}}};
  // Longer than a chunk of 1 MiB in every array.
  const nz::index n = 300'000;
  nz::csr<V> diagonal{n, n, nz::array<nz::offset>(n + 1), nz::array<nz::index>(n), nz::array<V>(n)};
  for (nz::index i = 0; i < n; ++i) {
    diagonal.row_begin[i + 1] = i + 1;
    diagonal.col[i] = n - 1 - i;
    diagonal.val[i] = V(1) / V(i + 1);
  }
  diagonal.row_begin[0] = 0;
  all.push_back(std::move(diagonal));
  return all;
}

template <class V> void expect_round_trips(const fs::path& path) {
  for (const bool compress : {false, true})
    for (const nz::csr<V>& a : round_trip_matrices<V>()) {
      nz::write_npz(path, a, {.compress = compress});
      expect_identical(nz::read_npz<V>(path), a);
    }
}

TEST_F(Npz, WrittenFilesReadBackBitIdentical) {
  expect_round_trips<float>(folder_ / "a.npz");
  expect_round_trips<double>(folder_ / "a.npz");
}

TEST_F(Npz, AssemblesManyListsTheSameForAnyNumberOfThreads) {
  // 3 entries in each of 200,000 rows, columns falling: unsorted, and several of the assembler's lists.
  const nz::index n = 200'000;
  nz::csr<double> a{n, n, nz::array<nz::offset>(n + 1), nz::array<nz::index>(3 * n),
                    nz::array<double>(3 * n)};
  nz::csr<double> sorted = a;
  for (nz::index i = 0; i <= n; ++i) a.row_begin[i] = sorted.row_begin[i] = 3 * nz::offset{i};
  for (nz::index k = 0; k < 3 * n; ++k) {
    a.col[k] = n / 2 - k % 3;
    a.val[k] = k;
    sorted.col[k] = n / 2 - 2 + k % 3;
    sorted.val[k] = k + 2 - 2 * (k % 3);
  }
  nz::write_npz(folder_ / "a.npz", a);
  for (int threads : {1, 2, 5})
    expect_identical(nz::read_npz<double>(folder_ / "a.npz", {.threads = threads}), sorted);
}

TEST_F(Npz, TheSameMatrixGivesTheSameBytesWhateverTheTimeZone) {
  setenv("TZ", "Asia/Tokyo", 1);
  tzset();
  nz::write_npz(folder_ / "a.npz", lecture_matrix<double>());
  unsetenv("TZ");
  tzset();
  nz::write_npz(folder_ / "b.npz", lecture_matrix<double>());
  EXPECT_EQ(bytes_of(folder_ / "a.npz"), bytes_of(folder_ / "b.npz"));
}

TEST_F(Npz, CompressedFilesAreSmaller) {
  nz::csr<double> ones{1, 5000, {0, 5000}, nz::array<nz::index>(5000), nz::array<double>(5000, 1.0)};
  for (nz::index j = 0; j < 5000; ++j) ones.col[j] = j;
  nz::write_npz(folder_ / "stored.npz", ones);
  nz::write_npz(folder_ / "deflated.npz", ones, {.compress = true});
  EXPECT_LT(fs::file_size(folder_ / "deflated.npz"), fs::file_size(folder_ / "stored.npz") / 3);
}

TEST_F(Npz, AFlippedByteGivesAnErrorOrTheSameMatrix) {
  // Zip keeps check sums: what a flip leaves readable is what it did not touch.
  const auto a = lecture_matrix<double>();
  nz::write_npz(folder_ / "a.npz", a);
  const std::string good = bytes_of(folder_ / "a.npz");
  for (std::size_t i = 0; i < good.size(); i += 5) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    std::ofstream(folder_ / "bad.npz", std::ios::binary) << bad;
    try {
      EXPECT_EQ(nz::read_npz<double>(folder_ / "bad.npz"), a) << "byte " << i;
    } catch (const nz::error&) {
    }
  }
}

TEST_F(Npz, EveryTruncationIsRefused) {
  const auto a = lecture_matrix<double>();
  for (const bool compress : {false, true}) {
    nz::write_npz(folder_ / "a.npz", a, {.compress = compress});
    const std::string good = bytes_of(folder_ / "a.npz");
    const std::size_t directory = good.find("PK\1\2");
    ASSERT_NE(directory, good.npos);
    for (std::size_t length = 0; length < good.size(); length += length < directory - 20 ? 13 : 1) {
      std::ofstream(folder_ / "bad.npz", std::ios::binary) << good.substr(0, length);
      EXPECT_THROW(nz::read_npz<double>(folder_ / "bad.npz"), nz::parse_error) << length << " bytes";
    }
  }
}

TEST_F(Npz, RefusesWhatTheHeaderOfAMemberAndTheDirectorySayDifferently) {
  nz::write_npz(folder_ / "a.npz", lecture_matrix<double>());
  const std::string good = bytes_of(folder_ / "a.npz");
  const auto expect_refused = [&](const std::string& bad) {
    std::ofstream(folder_ / "bad.npz", std::ios::binary) << bad;
    EXPECT_THROW(nz::read_npz<double>(folder_ / "bad.npz"), nz::error);
  };
  const std::size_t directory = good.find("PK\1\2");
  // Method, check sum, both sizes, the name: in the header at 8, 14, 18, 22 and 30, in the directory 2 or 16
  // later.
  for (const std::size_t at :
       {std::size_t{8}, std::size_t{14}, std::size_t{18}, std::size_t{22}, std::size_t{30}, directory + 10,
        directory + 16, directory + 20, directory + 24, directory + 42, directory + 46}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    expect_refused(bad);
  }
  expect_refused(good + "x");
  expect_refused("x" + good);
  expect_refused(good.substr(0, directory) + "x" + good.substr(directory));
  expect_refused(good + good);
}

TEST_F(Npz, RefusesADamagedMemberThatIsNotOfTheMatrixToo) {
  std::string bytes = bytes_of(data / "valid/csr_extra_members.npz");
  const std::size_t at = bytes.find("hello");
  ASSERT_NE(at, bytes.npos);
  bytes[at] = 'j';
  std::ofstream(folder_ / "bad.npz", std::ios::binary) << bytes;
  EXPECT_EQ(message_of(folder_ / "bad.npz"),
            (folder_ / "bad.npz").native() +
                ": member readme.txt: the data is damaged: its check sum or its length is wrong");
}

TEST_F(Npz, ReadsFromAPipe) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const bool compress : {false, true})
    for (const auto& read : {+[](const fs::path& from) { return nz::read_npz<double>(from); },
                             +[](const fs::path& from) { return nz::read<double>(from); }}) {
      const auto a = round_trip_matrices<double>().back();
      std::thread writer([&] { nz::write_npz(pipe, a, {.compress = compress}); });
      nz::csr<double> b;
      EXPECT_NO_THROW(b = read(pipe));
      writer.join();
      expect_identical(a, b);
    }
}

TEST_F(Npz, APipeIsNotReadOnWhereItCanBeNoNpzAnyMore) {
  nz::write_npz(folder_ / "a.npz", lecture_matrix<double>());
  const std::string good = bytes_of(folder_ / "a.npz");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::signal(SIGPIPE, SIG_IGN);
  const std::string zeros(1 << 16, '\0');
  for (const std::string& start :
       {good, good.substr(0, good.find("PK\1\2")), std::string("PK\3\4"), std::string("PK\5\6")}) {
    std::thread writer([&] {
      std::ofstream out(pipe, std::ios::binary);
      for (out << start; out; out << zeros) {
      }
    });
    EXPECT_THROW(nz::read<double>(pipe), nz::parse_error);
    writer.join();
  }
  std::signal(SIGPIPE, SIG_DFL);
}

TEST_F(Npz, ReportsProgressThatRisesAndCanStopTheReading) {
  nz::write_npz(folder_ / "a.npz", round_trip_matrices<double>().back());
  std::vector<double> seen;
  nz::read_npz<double>(folder_ / "a.npz", {.progress = [&](double fraction) { seen.push_back(fraction); }});
  ASSERT_GE(seen.size(), 5u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_GT(seen.back(), 0.9);
  EXPECT_LE(seen.back(), 1.0);
  const auto stop = [](double) { throw std::runtime_error("enough"); };
  EXPECT_THROW(nz::read_npz<double>(folder_ / "a.npz", {.progress = stop}), std::runtime_error);
}

TEST_F(Npz, AFailedWriteLeavesNothingBehind) {
  EXPECT_THROW(nz::write_npz(folder_ / "missing/a.npz", lecture_matrix<double>()), nz::error);
  EXPECT_TRUE(fs::is_empty(folder_));
  if (fs::exists("/dev/full")) {
    EXPECT_THROW(nz::write_npz("/dev/full", lecture_matrix<double>()), nz::error);
  }
}

TEST(Npy, HeadersAreAlignedAndReadBack) {
  const std::string text = nz::npy::make_header("<f8", "(12,)");
  EXPECT_EQ(text.size() % 64, 0u);
  const auto h = nz::npy::parse_header(text.substr(10), "x");
  EXPECT_EQ(h.kind, 'f');
  EXPECT_EQ(h.bytes, 8u);
  EXPECT_EQ(h.shape, std::vector<std::uint64_t>{12});
}

TEST(Npy, HeadersMayComeAsPython2WroteThem) {
  const auto h = nz::npy::parse_header("{\"shape\": (3L, 4L), 'fortran_order': True, 'descr': '|S3'}", "x");
  EXPECT_EQ(h.shape, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(h.bytes, 3u);
}

}  // namespace
