#include <algorithm>
#include <array>
#include <cerrno>
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

#include "tests/system_calls.hpp"
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

/// What `run` returns, in a process of its own; 200 where a signal ends it.
template <class Run> int in_child(const Run& run) {
  const pid_t child = fork();
  if (child == 0) {
    int status = 201;
    try {
      status = run();
    } catch (const std::exception&) {
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

constexpr std::uint32_t without_name = O_TMPFILE & ~O_DIRECTORY;
bool refuse_files_without_name() { return refuse_system_call(SYS_openat, EOPNOTSUPP, without_name); }

TEST_F(OutputFile, AppearsOnlyWhenCommitted) {
  const fs::path path = folder_ / "a.mtx";
  {
    nz::output_file out(path);
    out.write("hello", 5);
    EXPECT_FALSE(fs::exists(path));
    for (const auto& entry : fs::directory_iterator(folder_))  // there is none where a file needs no name
      EXPECT_TRUE(entry.path().filename().native().starts_with(".a.mtx.partial-"));
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

TEST_F(OutputFile, ThatIsKilledLeavesNothingAfterTheNextWrite) {
  put(folder_ / "a", "old");
  const std::string text(300'000, 'x');
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (i % 2 == 1) refuse_files_without_name();
      for (;;) put(folder_ / "a", text);
    }
    usleep(static_cast<useconds_t>(1000 + 100 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string now = text_of(folder_ / "a");
    EXPECT_TRUE(now == "old" || now == text);
  }
  put(folder_ / "a", "new");
  EXPECT_EQ(text_of(folder_ / "a"), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, ThatIsKilledBeforeItsRenameIsRemovedByTheNextWrite) {
  put(folder_ / "a", "old");
  for (const bool has_name : {false, true}) {
    const int status = in_child([&] {
      if (has_name && !refuse_files_without_name()) return 77;
      for (const long call : rename_calls)
        if (!change_system_call(call, SECCOMP_RET_KILL_PROCESS)) return 77;
      put(folder_ / "a", "half");
      return 0;
    });
    if (status == 77) GTEST_SKIP() << "system calls cannot be refused here";
    EXPECT_EQ(status, 200);
    EXPECT_EQ(text_of(folder_ / "a"), "old");
    EXPECT_EQ(files(), 2);
    put(folder_ / "b", "another");
    EXPECT_EQ(files(), 3) << "it was not the file of that name";
    put(folder_ / "a", "old");
    fs::remove(folder_ / "b");
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(OutputFile, LeavesTheTemporaryFileOfAWriterThatLives) {
  const int status = in_child([&] {
    if (!refuse_files_without_name()) return 77;
    nz::output_file slow(folder_ / "a");
    slow.write("slow", 4);
    const int next = in_child([&] {
      put(folder_ / "a", "fast");
      return static_cast<int>(files());
    });
    slow.commit();
    return next;
  });
  if (status == 77) GTEST_SKIP() << "system calls cannot be refused here";
  EXPECT_EQ(status, 2) << "the one that lives, and the finished one";
  EXPECT_EQ(text_of(folder_ / "a"), "slow");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, LeavesFilesThatOnlyLookLikeTemporaryOnes) {
  const fs::path outside = folder_ / "outside";
  std::ofstream(outside) << "mine";
  fs::create_directory(folder_ / ".a.partial-folder");
  fs::create_symlink(outside, folder_ / ".a.partial-linked");
  fs::create_hard_link(outside, folder_ / ".a.partial-second");
  ASSERT_EQ(mkfifo((folder_ / ".a.partial-fifo00").c_str(), 0600), 0);
  for (const char* name : {".a.partial-12345", ".a.partial-1234567", ".a.partial-ABCDEF", ".a.partial-abc.ef",
                           ".b.partial-abcdef", "a.partial-abcdef", ".a.partial-abcdef-unlocked"})
    std::ofstream(folder_ / name) << "mine";
  const long before = files();
  std::ofstream(folder_ / ".a.partial-abcde5") << "abandoned";
  put(folder_ / "a", "new");
  EXPECT_EQ(files(), before + 1);
  EXPECT_FALSE(fs::exists(folder_ / ".a.partial-abcde5"));
  EXPECT_EQ(text_of(outside), "mine");
}

TEST_F(OutputFile, NeedsNoFilesWithoutNameAndNoLocksAndNoLinks) {
  struct missing {
    bool are_unnamed, are_locks, are_links;
  };
  for (const auto& [are_unnamed, are_locks, are_links] :
       {missing{true, false, false}, {true, true, false}, {false, true, false}, {false, false, true}}) {
    fs::remove(folder_ / "a");
    for (const std::string text : {"new", "replaced"}) {
      const int status = in_child([&, unnamed = are_unnamed, locks = are_locks, links = are_links] {
        if ((unnamed && !refuse_files_without_name()) || (locks && !refuse_system_call(SYS_flock, ENOLCK)) ||
            (links && !refuse_system_call(SYS_linkat, EPERM)))
          return 77;
        umask(022);
        put(folder_ / "a", text);
        return 0;
      });
      if (status == 77) GTEST_SKIP() << "system calls cannot be refused here";
      EXPECT_EQ(status, 0);
      EXPECT_EQ(text_of(folder_ / "a"), text);
      EXPECT_EQ(mode_of(folder_ / "a"), text == "new" ? 0644u : 0606u);
      EXPECT_EQ(files(), 1);
      chmod((folder_ / "a").c_str(), 0606);
    }
  }
}

TEST_F(OutputFile, ThatGetsTooLargeLeavesTheOldFileAndNoOther) {
  put(folder_ / "a", "old");
  for (const bool has_name : {false, true}) {
    const int status = in_child([&] {
      if (has_name && !refuse_files_without_name()) return 77;
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{1000, 1000};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 77;
      const std::string wanted = (folder_ / "a: writing failed: File too large").native();
      try {
        put(folder_ / "a", std::string(5000, 'x'));
      } catch (const nz::error& e) {
        return e.what() == wanted ? 0 : 1;
      }
      return 2;
    });
    if (status == 77) GTEST_SKIP() << "there are no limits here";
    EXPECT_EQ(status, 0);
    EXPECT_EQ(text_of(folder_ / "a"), "old");
    EXPECT_EQ(files(), 1);
  }
}

TEST_F(OutputFile, OfTwoWritersOneIsTheLastAndBothAreWhole) {
  const std::array<std::string, 2> texts{std::string(100'000, 'a'), std::string(50'000, 'b')};
  std::vector<std::thread> writers;
  writers.reserve(texts.size());
  for (const std::string& text : texts)
    writers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) put(folder_ / "a", text);
    });
  for (std::thread& writer : writers) writer.join();
  EXPECT_NE(std::find(texts.begin(), texts.end(), text_of(folder_ / "a")), texts.end());
  EXPECT_EQ(files(), 1);
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
