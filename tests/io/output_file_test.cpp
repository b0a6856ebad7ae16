#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  long files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
  temporary_folder temporary_;
  const fs::path& folder_ = temporary_.path;
};

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& path, const std::string& text) {
  nz::output_file out(path);
  out.write(text.data(), text.size());
  out.commit();
}

unsigned mode_of(const fs::path& path) {
  struct stat info {};
  stat(path.c_str(), &info);
  return info.st_mode & 0777;
}

std::string message_of(const fs::path& path) {
  try {
    put(path, "new");
  } catch (const nz::error& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(OutputFile, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "a.mtx";
  {
    nz::output_file out(path);
    out.write("hello", 5);
    EXPECT_FALSE(fs::exists(path));
    EXPECT_EQ(text_of(out.temporary()), "hello");
    EXPECT_TRUE(out.temporary().filename().native().starts_with(".a.mtx.partial-"));
    EXPECT_EQ(out.temporary().parent_path(), folder_);
    out.commit();
    EXPECT_EQ(text_of(path), "hello");
  }
  EXPECT_EQ(text_of(path), "hello");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, WithoutCommitLeavesNothingAndTheOldFileStays) {
  const fs::path path = folder_ / "a.mtx";
  {
    nz::output_file out(path);
    out.write("x", 1);
  }
  EXPECT_EQ(files(), 0);
  put(path, "old");
  {
    nz::output_file out(path);
    out.write("new", 3);
    EXPECT_EQ(text_of(path), "old");
  }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, HasTheModeOfAnOrdinaryNewFileOrOfTheOneItReplaces) {
  const mode_t old_mask = umask(027);
  put(folder_ / "new", "x");
  umask(old_mask);
  EXPECT_EQ(mode_of(folder_ / "new"), 0640u);
  chmod((folder_ / "new").c_str(), 0606);
  put(folder_ / "new", "y");
  EXPECT_EQ(mode_of(folder_ / "new"), 0606u);
}

TEST_F(OutputFile, WritesThroughSymbolicLinksAndKeepsThem) {
  fs::create_directory(folder_ / "sub");
  put(folder_ / "sub/real", "old");
  fs::create_symlink("sub/real", folder_ / "first");
  fs::create_symlink(folder_ / "first", folder_ / "second");
  put(folder_ / "second", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "second"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
  EXPECT_EQ(text_of(folder_ / "sub/real"), "new");

  fs::create_symlink("sub/not-yet", folder_ / "dangling");
  put(folder_ / "dangling", "made");
  EXPECT_EQ(text_of(folder_ / "sub/not-yet"), "made");

  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(message_of(folder_ / "loop"),
            (folder_ / "loop: cannot write: Too many levels of symbolic links").native());
}

TEST_F(OutputFile, SaysWhyAFileCannotBeWritten) {
  EXPECT_EQ(message_of(folder_), folder_.native() + ": cannot write: Is a directory");
  EXPECT_EQ(message_of(folder_ / "none/"), (folder_ / "none/: cannot write: Is a directory").native());
  EXPECT_EQ(message_of(folder_ / "none/a"),
            (folder_ / "none/a: cannot write: No such file or directory").native());
  put(folder_ / "file", "x");
  EXPECT_EQ(message_of(folder_ / "file/a"), (folder_ / "file/a: cannot write: Not a directory").native());
  EXPECT_EQ(message_of(""), "cannot write to a file without a name");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, ReplacesNoWriteProtectedFile) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  put(folder_ / "a", "old");
  chmod((folder_ / "a").c_str(), 0444);
  EXPECT_EQ(message_of(folder_ / "a"), (folder_ / "a: cannot write: Permission denied").native());
  EXPECT_EQ(text_of(folder_ / "a"), "old");
}

TEST_F(OutputFile, TakesTheLongestNames) {
  const std::string name(255, 'n');
  put(folder_ / name, "x");
  EXPECT_EQ(text_of(folder_ / name), "x");
}

TEST_F(OutputFile, WritesToAPipeDirectly) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = text_of(pipe); });
  put(pipe, "through");
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, GoesOnWhereADescriptorOfTheProcessStands) {
  if (!fs::exists("/dev/fd")) GTEST_SKIP() << "no /dev/fd here";
  const fs::path path = folder_ / "redirected";
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(write(descriptor, "before ", 7), 7);
  put("/dev/fd/" + std::to_string(descriptor), "during ");
  ASSERT_EQ(write(descriptor, "after", 5), 5);
  close(descriptor);
  EXPECT_EQ(text_of(path), "before during after");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(message_of("/dev/full"), "/dev/full: writing failed: No space left on device");
}

TEST_F(OutputFile, AFailedRenameRemovesTheTemporary) {
  const fs::path path = folder_ / "a";
  {
    nz::output_file out(path);
    fs::create_directories(path / "in the way");
    EXPECT_THROW(out.commit(), nz::error);
  }
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, ASignalHandlerCanRemoveWhatIsUnfinished) {
  put(folder_ / "old", "old");
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, [](int) {
      nz::remove_unfinished_output();
      _exit(15);
    });
    put(folder_ / "done", "done");
    nz::output_file a(folder_ / "new"), b(folder_ / "old");
    a.write("half", 4);
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 15);
  EXPECT_EQ(text_of(folder_ / "old"), "old");
  EXPECT_EQ(text_of(folder_ / "done"), "done");
  EXPECT_EQ(files(), 2);
}

TEST_F(OutputFile, MoreFilesThanTheHandlersTableStillWork) {
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<nz::output_file>> all(40);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = std::make_unique<nz::output_file>(folder_ / std::to_string(i));
    for (auto& file : all) file->commit();
    EXPECT_EQ(files(), 40);
  }
}

}  // namespace
