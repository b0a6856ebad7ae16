#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/plan/choices_internal.hpp>

#include "tests/plan/expect_refusal.hpp"
#include "tests/system_calls.hpp"
#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ChoicesFile : public testing::Test {
 protected:
  long files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }
  static void add(const std::string& file, const std::string& key, const std::string& kernel = "ell") {
    nz::plan_report report;
    report.kernel = kernel;
    nz::remember_choice(file, key, report);
  }
  /// The same in the processes of as many writers, each with ten choices; 0 where all of them succeeded.
  template <class Prepare> int add_in_processes(int writers, const Prepare& prepare) const {
    std::vector<pid_t> children;
    for (int w = 0; w < writers; ++w) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      int status = prepare();
      try {
        for (int i = 0; i < 10 && status == 0; ++i) add(file_, key_of(w, i));
      } catch (const std::exception&) {
        status = 1;
      }
      _exit(status);
    }
    int worst = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      worst = std::max(worst, WIFEXITED(status) ? WEXITSTATUS(status) : 200);
    }
    return worst;
  }
  static std::string key_of(int writer, int i) { return std::to_string(writer) + "-" + std::to_string(i); }
  void expect_all(int writers) const {
    for (int w = 0; w < writers; ++w)
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(nz::recall_choice(file_, key_of(w, i))) << key_of(w, i);
    EXPECT_EQ(files(), 1);
  }
  void expect_refused(const std::string& file, const std::string& why) const {
    expect_refusal<nz::error>([&] { nz::recall_choice(file, "key"); }, {file, why});
    expect_refusal<nz::error>([&] { add(file, "key"); }, {file, why});
  }

  temporary_folder temporary_;
  const fs::path& folder_ = temporary_.path;
  std::string file_ = (folder_ / "choices.json").string();
};

TEST_F(ChoicesFile, OfTwoThreadsThatAddLosesNothing) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int w = 0; w < 4; ++w)
    threads.emplace_back([this, w] {
      for (int i = 0; i < 10; ++i) add(file_, key_of(w, i));
    });
  for (std::thread& thread : threads) thread.join();
  expect_all(4);
}

TEST_F(ChoicesFile, OfTwoProcessesThatAddLosesNothing) {
  EXPECT_EQ(add_in_processes(4, [] { return 0; }), 0);
  expect_all(4);
}

TEST_F(ChoicesFile, NeedsNoLocks) {
  const int status = add_in_processes(1, [] { return refuse_system_call(SYS_flock, ENOLCK) ? 0 : 77; });
  if (status == 77) GTEST_SKIP() << "system calls cannot be refused here";
  EXPECT_EQ(status, 0);
  expect_all(1);
}

TEST_F(ChoicesFile, IsWrittenWhereItsLinkLeadsAndNowhereElse) {
  const fs::path victim = folder_ / "victim", real = folder_ / "sub" / "real.json";
  std::ofstream(victim) << "precious";
  // The name that a temporary file once had.
  fs::create_symlink(victim, file_ + "." + std::to_string(getpid()) + ".tmp");
  add(file_, "a");
  EXPECT_EQ(text_of(victim), "precious");
  fs::create_directory(folder_ / "sub");
  fs::rename(file_, real);
  fs::create_symlink("sub/real.json", file_);
  add(file_, "b");
  EXPECT_TRUE(fs::is_symlink(file_));
  EXPECT_TRUE(nz::recall_choice(real, "a") && nz::recall_choice(real, "b"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "sub"), {}), 1);
}

TEST_F(ChoicesFile, ThatIsNoFileIsRefused) {
  fs::create_symlink("none", folder_ / "dangling");
  fs::create_symlink("loop", folder_ / "loop");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_refused(folder_ / "dangling", "it is a link to a file that does not exist");
  expect_refused(folder_ / "loop", "Too many levels of symbolic links");
  expect_refused(folder_ / "pipe", "it is no regular file");
  expect_refused(folder_, "it is no regular file");
  expect_refused(folder_ / "missing/choices.json", "No such file or directory");
  expect_refused("/dev/null", "it is no regular file");
  EXPECT_EQ(files(), 3);
}

TEST_F(ChoicesFile, ThatIsNestedTooDeeplyIsRefusedAndLeft) {
  const auto nested = [](std::size_t levels) {
    return "{\"nonzero_choices\": 1, \"choices\": {}, \"[\\\"[\": " + std::string(levels, '[') +
           std::string(levels, ']') + "}";
  };
  std::ofstream(file_) << nested(99);
  add(file_, "a");
  EXPECT_TRUE(nz::recall_choice(file_, "a"));
  for (const std::size_t levels : {100, 1'000'000}) {
    std::ofstream(file_) << nested(levels);
    expect_refused(file_, "it is nested too deeply");
    EXPECT_EQ(text_of(file_), nested(levels));
  }
}

TEST_F(ChoicesFile, ThatIsFullIsReadAndTakesNoMore) {
  std::string text =
      "{\"nonzero_choices\": 1, \"choices\": {\"a\": {\"kernel\": \"ell\", \"reordered\": false}, \"b\": \"";
  constexpr std::size_t most_bytes = std::size_t{16} << 20, last = 8;
  text.append(most_bytes - last - text.size(), 'x');
  std::ofstream(file_) << text << "\"}}";
  const std::string before = text_of(file_);
  add(file_, "c");
  EXPECT_EQ(text_of(file_), before);
  EXPECT_TRUE(nz::recall_choice(file_, "a"));
  EXPECT_EQ(files(), 1);
}

TEST_F(ChoicesFile, OfManyChoicesIsReadInTime) {
  std::string text =
      "{\"nonzero_choices\": 1, \"choices\": {\"a\": {\"kernel\": \"ell\", \"reordered\": false}";
  for (int i = 0; i < 100'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  std::ofstream(file_) << text + "}}";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(nz::recall_choice(file_, "a"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << "the time is quadratic";
}

}  // namespace
