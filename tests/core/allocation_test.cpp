// Out of memory at any point is std::bad_alloc, and nothing is lost: every allocation of a segment of work is
// made to fail in turn, and as much is live afterwards as before.

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <new>

#include <gtest/gtest.h>
#include <zlib.h>

#include <nonzero/nonzero.hpp>

#include "tests/temporary_folder.hpp"

namespace {

constexpr long never = std::numeric_limits<long>::max();
std::atomic<long> allocations_left = never;  // until one fails
std::atomic<long> live = 0;

void* count_or_fail(void* memory) {
  if (!memory) throw std::bad_alloc();
  ++live;
  return memory;
}

bool is_to_fail() { return allocations_left != never && allocations_left-- == 0; }

void release(void* memory) {
  if (memory) --live;
  std::free(memory);
}

}  // namespace

// Replaced for the whole test program; they count, and fail only while a test below asks them to.
void* operator new(std::size_t size) {
  return count_or_fail(is_to_fail() ? nullptr : std::malloc(size ? size : 1));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return count_or_fail(is_to_fail() ? nullptr : std::aligned_alloc(unit, (size / unit + 1) * unit));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const memory = is_to_fail() ? nullptr : std::malloc(size ? size : 1);
  live += memory != nullptr;
  return memory;
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace {

template <class Work> void expect_no_leak(const Work& work) {
  work();  // what is made once and kept is made now
  const long before = live;
  long failures = 0;
  for (long n = 0;; ++n) {
    allocations_left = n;
    bool is_done = true;
    try {
      work();
    } catch (const std::bad_alloc&) {
      is_done = false;
    }
    // The one failure may also have been met and mended, as std::stable_sort does without its buffer.
    const bool is_past_the_end = allocations_left >= 0;
    allocations_left = never;
    ASSERT_EQ(live, before) << "when allocation " << n << " fails";
    if (is_done && is_past_the_end) break;
    failures += !is_done;
  }
  EXPECT_GT(failures, 3);
}

// A few blocks of text, duplicates, a row that has to be sorted.
std::string some_text() {
  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n50 50 120000\n";
  for (int k = 0; k < 120000; ++k)
    text += std::to_string(k % 50 + 1) + ' ' + std::to_string(k % 7 + 1) + " 1.5\n";
  return text;
}

TEST(FailedAllocations, LeakNothingWhenReading) {
  const std::string text = some_text();
  for (const int threads : {1, 2})
    expect_no_leak(
        [&] { nz::parse_matrix_market<double>(text, "text", {.threads = threads, .block_bytes = 1 << 19}); });
}

TEST(FailedAllocations, LeakNothingWhenReadingACompressedFileOrAnNpz) {
  const temporary_folder temporary;
  const std::string text = "%%MatrixMarket matrix coordinate real general\n% c\n2 2 2\n1 1 1\n2 2 2\n";
  const auto packed = temporary.path / "a.mtx.gz", npz = temporary.path / "a.npz",
             edges = temporary.path / "e";
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> out(gzopen(packed.c_str(), "wb"), gzclose);
  ASSERT_EQ(gzwrite(out.get(), text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  ASSERT_EQ(gzflush(out.get(), Z_FINISH), Z_OK);
  nz::write_npz(npz, nz::parse_matrix_market<float>(text, ""), {.compress = true});
  std::ofstream(edges) << "a b\nb c 2\n";
  for (const auto& file : {packed, npz}) expect_no_leak([&] { nz::read<double>(file); });
  expect_no_leak([&] { nz::read_edge_list<double>(edges); });
}

TEST(FailedAllocations, LeakNothingWhenGeneratingAndConverting) {
  expect_no_leak([] { nz::generate::rmat<float>(6, 4); });
  const auto graph = nz::generate::rmat<double>(6, 4), blocks = nz::generate::fem_blocks<double>(3, 2, 2);
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on == nz::device_kind::cuda)
      continue;  // the driver's own allocations cannot be made to fail
    const auto& a = kernel.format.ends_with("bsr") ? blocks : graph;
    expect_no_leak([&] {
      std::vector<double> x(a.cols, 1), y(a.rows, 0);
      kernel.prepare(a, {.budget = {100.0}})->multiply(1, x, 0, y);
    });
  }
}

// A kernel that hands out rows keeps count of them beside the matrix.
TEST(FailedAllocations, InAMultiplyLeaveTheNextOneRight) {
  const auto graph = nz::generate::rmat<double>(9, 4), blocks = nz::generate::fem_blocks<double>(5, 4, 4);
  for (const nz::kernel_row& kernel : nz::kernels()) {
    if (kernel.runs_on != nz::device_kind::emulator) continue;
    const auto& a = kernel.format == "bsr" ? blocks : graph;
    const std::vector<double> x(a.cols, 1);
    std::vector<double> expected(a.rows), y(a.rows);
    nz::find_kernel("csr_serial").prepare(a)->multiply(1, x, 0, expected);
    const auto ready = kernel.prepare(a, {.budget = {1e9}});
    long failures = 0;
    for (long n = 0; n < 200; ++n) {
      allocations_left = n;
      try {
        ready->multiply(1, x, 0, y);
      } catch (const std::bad_alloc&) {
        ++failures;
      }
      allocations_left = never;
      ready->multiply(1, x, 0, y);
      for (nz::index i = 0; i < a.rows; ++i)
        ASSERT_NEAR(y[i], expected[i], 1e-9) << kernel.name << ", row " << i << ", allocation " << n;
    }
    EXPECT_GT(failures, 0) << kernel.name;
  }
}

TEST(FailedAllocations, LeakNothingAndLeaveNoFileWhenWriting) {
  namespace fs = std::filesystem;
  const temporary_folder temporary;
  const fs::path& folder = temporary.path;
  const auto a = nz::generate::uniform<double>(100, 100, 3);
  for (const char* name : {"a.mtx", "a.npz"}) {
    expect_no_leak([&] {
      fs::remove(folder / name);
      try {
        nz::write(folder / name, a);
      } catch (const std::bad_alloc&) {
        allocations_left = never;
        EXPECT_TRUE(fs::is_empty(folder));
        throw;
      }
      nz::read<double>(folder / name);
    });
    fs::remove(folder / name);
  }
}

}  // namespace
