#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/cgroups.hpp>
#include <nonzero/core/memory.hpp>

namespace {

/// A root with the files that Linux shows.
class AvailableMemory : public testing::Test {
 protected:
  void SetUp() override { write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:    800 kB\n"); }
  std::string root() const { return root_.string(); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::uint64_t kibibytes() const { return nz::available_memory(root_.string()) / 1024; }

 private:
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      ("memory_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(AvailableMemory, IsWhatTheSystemSays) { EXPECT_EQ(kibibytes(), 800U); }

TEST_F(AvailableMemory, IsLessWhereACgroupOrOneAroundItSaysSo) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  write("sys/fs/cgroup/outer/inner/memory.current", "1024\n");
  EXPECT_EQ(kibibytes(), 800U);
  write("sys/fs/cgroup/outer/memory.max", "409600\n");
  write("sys/fs/cgroup/outer/memory.current", "204800\n");
  EXPECT_EQ(kibibytes(), 200U);
  write("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 102400\n");  // can be reclaimed
  EXPECT_EQ(kibibytes(), 300U);
  write("sys/fs/cgroup/outer/memory.current", "999999\n");  // it may pass the limit for a moment
  write("sys/fs/cgroup/outer/memory.stat", "");
  EXPECT_EQ(kibibytes(), 0U);
}

TEST_F(AvailableMemory, IsLessWhereACgroupOfVersionOneSaysSo) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/name_on_the_host\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "204800\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "102400\n");
  EXPECT_EQ(kibibytes(), 100U);
}

using ProcessorsOfCgroups = AvailableMemory;

TEST_F(ProcessorsOfCgroups, AreTheFewestOfThoseAround) {
  EXPECT_EQ(nz::processors_of_cgroups(root()), 0);
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(nz::processors_of_cgroups(root()), 0);
  write("sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  EXPECT_EQ(nz::processors_of_cgroups(root()), 3);
  write("sys/fs/cgroup/outer/inner/cpu.max", "5000 100000\n");
  EXPECT_EQ(nz::processors_of_cgroups(root()), 1);
}

TEST_F(ProcessorsOfCgroups, AreThoseOfVersionOne) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/docker/name_on_the_host\n4:memory:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(nz::processors_of_cgroups(root()), 0);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  EXPECT_EQ(nz::processors_of_cgroups(root()), 4);
}

TEST(RequireMemory, RefusesWhatNoMachineHas) {
  EXPECT_GT(nz::available_memory(), 0U);
  EXPECT_NO_THROW(nz::require_memory("a matrix takes", 1000));
  try {
    nz::require_memory("out of memory: a matrix takes", std::uint64_t{1} << 60);
    FAIL();
  } catch (const std::bad_alloc& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("out of memory: a matrix takes 1.0 EiB, and ")) << e.what();
  }
}

}  // namespace
