#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/input_file.hpp>

#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Text that does not compress well: a truncated file always lacks some of the data.
std::string long_text() {
  std::string text;
  unsigned state = 1;
  for (int i = 0; i < 40'000; ++i) text += std::to_string((state = state * 1664525 + 1013904223) >> 8) + '\n';
  return text;
}

class Archive : public testing::Test {
 protected:
  using setup = std::function<void(archive*)>;

  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  /// Packs (name, content) pairs; a name that ends in / is a folder.
  fs::path pack(const std::string& file, const setup& choose,
                const std::vector<std::pair<std::string, std::string>>& entries) const {
    archive* out = archive_write_new();
    choose(out);
    archive_write_open_filename(out, (folder_ / file).c_str());
    for (const auto& [name, content] : entries) {
      archive_entry* header = archive_entry_new();
      archive_entry_set_pathname(header, name.c_str());
      archive_entry_set_filetype(header, name.ends_with('/') ? AE_IFDIR : AE_IFREG);
      archive_entry_set_perm(header, 0755);
      archive_entry_set_size(header, static_cast<la_int64_t>(content.size()));
      archive_write_header(out, header);
      archive_write_data(out, content.data(), content.size());
      archive_entry_free(header);
    }
    if (archive_write_close(out) != ARCHIVE_OK) throw std::runtime_error(archive_error_string(out));
    archive_write_free(out);
    return folder_ / file;
  }
  temporary_folder temporary_;
  const fs::path& folder_ = temporary_.path;
};

void tar(archive* a) { archive_write_set_format_ustar(a); }
void raw_gzip(archive* a) {
  archive_write_set_format_raw(a);
  archive_write_add_filter_gzip(a);
}
void tar_gzip(archive* a) {
  archive_write_set_format_pax_restricted(a);
  archive_write_add_filter_gzip(a);
}

using contents = std::vector<std::pair<std::string, std::string>>;

contents read_all(const fs::path& path, std::size_t step = 1000) {
  nz::input_file file(path);
  nz::archive_reader in(file);
  contents all;
  while (const auto entry = in.next()) {
    std::string text, buffer(step, '\0');
    for (std::size_t got; (got = in.read(buffer)) > 0;) text += buffer.substr(0, got);
    all.emplace_back(entry->name, text);
  }
  return all;
}

std::string message_of(const fs::path& path) {
  try {
    read_all(path);
  } catch (const nz::parse_error& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(Archive, ReadsAPlainFileAsOneNamelessEntry) {
  EXPECT_EQ(read_all(write("a.mtx", "hello\n")), (contents{{"", "hello\n"}}));
}

TEST_F(Archive, AFileOfNoBytesHasNoEntry) {
  EXPECT_EQ(read_all(write("empty", "")), contents{});
  EXPECT_EQ(read_all(pack("empty.gz", raw_gzip, {{"data", ""}})), contents{});
}

TEST_F(Archive, ReadsCompressedStreams) {
  const std::string text = long_text();
  const std::pair<const char*, int (*)(archive*)> filters[] = {{"gz", archive_write_add_filter_gzip},
                                                               {"bz2", archive_write_add_filter_bzip2},
                                                               {"xz", archive_write_add_filter_xz},
                                                               {"lz4", archive_write_add_filter_lz4},
                                                               {"zst", archive_write_add_filter_zstd}};
  for (const auto& [name, filter] : filters) {
    const auto choose = [filter = filter](archive* a) {
      archive_write_set_format_raw(a);
      filter(a);
    };
    EXPECT_EQ(read_all(pack(name, choose, {{"data", text}})), (contents{{"", text}})) << name;
  }
}

TEST_F(Archive, ReadsSeveralGzipMembersAsOneStream) {
  const std::string one = bytes_of(pack("one.gz", raw_gzip, {{"data", "first\n"}}));
  EXPECT_EQ(read_all(write("two.gz", one + one)), (contents{{"", "first\nfirst\n"}}));
}

TEST_F(Archive, ReadsTheFilesOfATarButNoFolders) {
  const contents files{{"web/", ""}, {"web/web.mtx", long_text()}, {"web/empty", ""}, {"b", "second"}};
  const contents expected(files.begin() + 1, files.end());
  EXPECT_EQ(read_all(pack("a.tar.gz", tar_gzip, files)), expected);
  EXPECT_EQ(read_all(pack("a.tar", tar, files)), expected);
  const auto tar_xz = [](archive* a) {
    tar(a);
    archive_write_add_filter_xz(a);
  };
  EXPECT_EQ(read_all(pack("a.tar.xz", tar_xz, files)), expected);
}

TEST_F(Archive, RefusesAZip) {
  const fs::path zip = pack("a.zip", [](archive* a) { archive_write_set_format_zip(a); }, {{"a", "text"}});
  EXPECT_NE(message_of(zip).find("a zip;"), std::string::npos) << message_of(zip);
}

TEST_F(Archive, EntriesThatAreNotReadAreSkipped) {
  nz::input_file file(pack("a.tar.gz", tar_gzip, {{"a", long_text()}, {"b", "second"}}));
  nz::archive_reader in(file);
  EXPECT_EQ(in.next()->name, "a");
  const auto second = in.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(in.where(), (folder_ / "a.tar.gz: member b").native());
  std::string text(100, '\0');
  EXPECT_EQ(in.read(text), 6u);
  EXPECT_EQ(in.read(text), 0u);
  EXPECT_FALSE(in.next());
}

TEST_F(Archive, FillsTheWholeBuffer) {
  const std::string text = long_text();
  nz::input_file file(pack("a.gz", raw_gzip, {{"data", text}}));
  nz::archive_reader in(file);
  ASSERT_TRUE(in.next());
  std::string buffer(text.size() - 1, '\0');
  EXPECT_EQ(in.read(buffer), buffer.size());
  EXPECT_EQ(in.read(buffer), 1u);
  EXPECT_EQ(in.read(buffer), 0u);
}

TEST_F(Archive, RefusesEveryTruncatedGzip) {
  const std::string good = bytes_of(pack("a.gz", raw_gzip, {{"data", long_text()}}));
  for (std::size_t cut : {1u, 4u, 8u, 9u, 100u, 10'000u, 100'000u}) {
    ASSERT_LT(cut, good.size());
    const fs::path path = write("cut.gz", good.substr(0, good.size() - cut));
    EXPECT_TRUE(message_of(path).starts_with(path.native() + ": ")) << cut << " bytes: " << message_of(path);
  }
}

TEST_F(Archive, RefusesATruncatedTar) {
  const std::string good = bytes_of(pack("a.tar", tar, {{"a", long_text()}}));
  for (std::size_t length : {600u, 100'000u})
    EXPECT_THROW(read_all(write("cut.tar", good.substr(0, length))), nz::parse_error) << length;
  const std::string packed = bytes_of(pack("a.tar.gz", tar_gzip, {{"a", long_text()}}));
  EXPECT_THROW(read_all(write("cut.tar.gz", packed.substr(0, packed.size() / 2))), nz::parse_error);
}

TEST_F(Archive, RefusesATarWithADamagedHeader) {
  std::string bytes = bytes_of(pack("a.tar", tar, {{"a", "text"}, {"b", "text"}}));
  bytes[1024] = 'x';  // the second entry's name: its check sum no longer holds
  EXPECT_THROW(read_all(write("bad.tar", bytes)), nz::parse_error);
}

TEST_F(Archive, RefusesDamagedCompressedData) {
  std::string bytes = bytes_of(pack("a.gz", raw_gzip, {{"data", long_text()}}));
  std::fill_n(bytes.begin() + 5000, 500, '\xff');
  EXPECT_THROW(read_all(write("bad.gz", bytes)), nz::parse_error);
}

TEST_F(Archive, RefusesAGzipWhoseCheckSumOrLengthIsWrong) {
  const std::string good = bytes_of(pack("a.gz", raw_gzip, {{"data", "3 4 5\n"}}));
  for (std::size_t from_end = 1; from_end <= 8; ++from_end) {
    std::string bad = good;
    bad[bad.size() - from_end] ^= 1;
    const fs::path path = write("bad.gz", bad);
    EXPECT_EQ(message_of(path), path.native() + ": the compressed data is damaged: incorrect " +
                                    (from_end > 4 ? "data" : "length") + " check");
  }
}

TEST_F(Archive, RefusesATarGzipThatIsDamagedBehindItsLastEntry) {
  std::string bytes = bytes_of(pack("a.tar.gz", tar_gzip, {{"a", "text"}}));
  bytes[bytes.size() - 5] ^= 1;
  EXPECT_NE(message_of(write("bad.tar.gz", bytes)).find("incorrect data check"), std::string::npos);
}

TEST_F(Archive, AGzipMayBeFollowedByMembersAndZerosOnly) {
  const std::string one = bytes_of(pack("one.gz", raw_gzip, {{"data", "first\n"}}));
  const contents once{{"", "first\n"}}, twice{{"", "first\nfirst\n"}};
  EXPECT_EQ(read_all(write("a.gz", one + std::string(3000, '\0'))), once);
  EXPECT_EQ(read_all(write("a.gz", one + one + '\0')), twice);
  for (const std::string& rest : {std::string("x"), one + "garbage", std::string(600, '\0') + "x",
                                  std::string("\0", 1) + one, std::string("\x1f"), std::string("\x1f\x8c")}) {
    const fs::path path = write("bad.gz", one + rest);
    EXPECT_TRUE(message_of(path).starts_with(path.native() + ": ")) << message_of(path);
  }
}

// A pipe of zeros, of members of nothing, or of a name without end would otherwise be read for ever.
TEST_F(Archive, AGzipMayNotGoOnWithoutAnyContent) {
  const std::string one = bytes_of(pack("one.gz", raw_gzip, {{"data", "first\n"}}));
  const std::string none = bytes_of(pack("none.gz", raw_gzip, {{"data", ""}}));
  std::string nothing;
  while (nothing.size() <= 16u << 20) nothing += none;
  const std::string name = std::string("\x1f\x8b\x08\x08", 4) + std::string((16 << 20) + 1000, 'x');
  EXPECT_NE(message_of(write("a.gz", one + std::string(2 << 20, '\0'))).find("zeros follow"),
            std::string::npos);
  EXPECT_NE(message_of(write("a.gz", one + nothing)).find("hold nothing"), std::string::npos);
  EXPECT_NE(message_of(write("a.gz", name)).find("hold nothing"), std::string::npos);
}

TEST_F(Archive, ATarMayNotGoOnForLongAfterItsEnd) {
  const std::string good = bytes_of(pack("a.tar", tar, {{"a", "text"}}));
  EXPECT_EQ(read_all(write("padded.tar", good + std::string(10'000, '\0'))), (contents{{"a", "text"}}));
  EXPECT_NE(message_of(write("long.tar", good + std::string(2 << 20, '\0'))).find("goes on after the end"),
            std::string::npos);
}

TEST_F(Archive, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(message_of(folder_ / "x.mtx.gz"), (folder_ / "x.mtx.gz: No such file or directory").native());
  EXPECT_EQ(message_of(folder_), folder_.native() + ": Is a directory");
  if (geteuid() == 0) GTEST_SKIP() << "root reads everything";
  const fs::path secret = write("secret", "x");
  chmod(secret.c_str(), 0);
  EXPECT_EQ(message_of(secret), secret.native() + ": Permission denied");
}

TEST_F(Archive, ReadsFromAPipe) {
  const std::string packed = bytes_of(pack("a.tar.gz", tar_gzip, {{"a", long_text()}}));
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << packed; });
  EXPECT_EQ(read_all(pipe), (contents{{"a", long_text()}}));
  writer.join();
}

TEST_F(Archive, ProgressRunsFromZeroToOne) {
  nz::input_file file(write("a", std::string(3 << 20, 'x')));
  nz::archive_reader in(file);
  ASSERT_TRUE(in.next());
  std::string buffer(1 << 20, '\0');
  double before = 0;
  while (in.read(buffer) > 0) {
    EXPECT_GE(in.progress(), before);
    before = in.progress();
  }
  EXPECT_EQ(before, 1);
}

}  // namespace
