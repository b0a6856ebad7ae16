#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <nonzero/core/threads.hpp>
#include <nonzero/plan/survey_internal.hpp>

namespace nz {
namespace {

/// How many cache lines of x the entries [begin, end) touch.
template <class V>
std::size_t count_lines(const csr<V>& a, offset begin, offset end, std::vector<index>& lines) {
  constexpr index per_line = 64 / sizeof(V);
  lines.assign(a.col.begin() + begin, a.col.begin() + end);
  for (index& line : lines) line /= per_line;
  std::sort(lines.begin(), lines.end());
  return static_cast<std::size_t>(std::unique(lines.begin(), lines.end()) - lines.begin());
}

template <class V> double find_entries_per_line(const csr<V>& a) {
  constexpr offset windows = 8, window = 2048;
  std::vector<index> lines;
  std::size_t touched = 0, looked_at = 0;
  for (offset w = 0; w < windows; ++w) {
    const offset begin = a.nnz() / windows * w, end = std::min(begin + window, a.nnz());
    touched += count_lines(a, begin, end, lines);
    looked_at += static_cast<std::size_t>(end - begin);
  }
  return touched == 0 ? 0 : static_cast<double>(looked_at) / static_cast<double>(touched);
}

template <class V> offset find_longest_row(const csr<V>& a) {
  constexpr std::int64_t rows_per_task = 1 << 16;
  const std::int64_t tasks = (a.rows + rows_per_task - 1) / rows_per_task;
  std::vector<offset> longest(static_cast<std::size_t>(tasks));
  parallel_tasks(tasks, 0, [&](std::int64_t t) {
    const auto last = static_cast<index>(std::min<std::int64_t>(a.rows, (t + 1) * rows_per_task));
    offset most = 0;
    for (auto i = static_cast<index>(t * rows_per_task); i < last; ++i)
      most = std::max(most, a.row_length(i));
    longest[static_cast<std::size_t>(t)] = most;
  });
  return longest.empty() ? 0 : *std::max_element(longest.begin(), longest.end());
}

struct row_range {
  index begin, end;
};

/// Where the windows lie: at even distances among the entries, not among the rows, as entries are what takes
/// time.
template <class V> std::vector<row_range> place_windows(const csr<V>& a, offset entries) {
  constexpr offset least_window = 12 * 1024, most_windows = 8;
  const offset windows = std::clamp<offset>(entries / least_window, 1, most_windows);
  constexpr index most_alignment = 1024, most_rows = 16 * most_alignment;
  const offset window_entries = std::max<offset>(entries / windows, 1);
  const double mean = std::max(static_cast<double>(a.nnz()) / a.rows, 1e-3);
  const double wanted_rows = static_cast<double>(window_entries) / mean;
  const index alignment = static_cast<index>(
      std::bit_floor(static_cast<std::uint32_t>(std::clamp(wanted_rows, 1.0, double(most_alignment)))));
  const auto align_up = [&](std::int64_t row) {
    return static_cast<index>(std::min<std::int64_t>(a.rows, (row + alignment - 1) / alignment * alignment));
  };
  std::vector<row_range> out;
  index free_from = 0;
  for (offset w = 0; w < windows && free_from < a.rows; ++w) {
    const offset target = a.nnz() / windows * w + (a.nnz() / windows - window_entries) / 2;
    const auto row =
        std::upper_bound(a.row_begin.begin(), a.row_begin.end() - 1, target) - a.row_begin.begin() - 1;
    const index begin = std::max(free_from, static_cast<index>(row / alignment * alignment));
    if (begin >= a.rows) break;
    const offset last_entry = a.row_begin[begin] + window_entries;
    const auto full = std::lower_bound(a.row_begin.begin() + begin, a.row_begin.end() - 1, last_entry);
    const index end =
        std::min(align_up(full - a.row_begin.begin()), align_up(std::int64_t{begin} + most_rows));
    out.push_back({begin, std::max(end, begin + 1)});
    free_from = out.back().end;
  }
  // Columns that are a multiple of a power of two apart would fall on the same few places of a cache, as
  // those of the whole matrix do not.
  constexpr index odd_rows = 72;
  if (!out.empty() && out.back().end - out.back().begin > 4 * odd_rows) out.back().end -= odd_rows;
  return out;
}

/// The sum of bits as whole numbers, which may be had in any order, so in vector registers. Read from four
/// places at once: one stream is not all that a core can have under way.
template <class T> std::uint64_t sum_of(const T* values, offset begin, offset end) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr offset streams = 4, width = 64 / sizeof(T);
  bits sums[streams][width] = {};
  const offset part = (end - begin) / streams;
  for (offset k = begin; k + width <= begin + part; k += width)
    for (offset s = 0; s < streams; ++s)
      for (offset e = 0; e < width; ++e) sums[s][e] += std::bit_cast<bits>(values[s * part + k + e]);
  std::uint64_t sum = 0;
  for (const auto& stream_sums : sums)
    for (const bits one : stream_sums) sum += one;
  return sum;
}

}  // namespace

template <class V> matrix_survey survey(const csr<V>& a) {
  matrix_survey out;
  out.longest_row = find_longest_row(a);
  out.mean_row = a.rows == 0 ? 0 : static_cast<double>(a.nnz()) / a.rows;
  out.entries_per_line = find_entries_per_line(a);
  return out;
}

template <class V> csr<V> sample_windows(const csr<V>& a, offset entries) {
  if (a.nnz() <= entries + entries / 2) return a;
  const std::vector<row_range> windows = place_windows(a, entries);
  const offset longest = entries / 4;  // of a row
  csr<V> out;
  out.cols = a.cols;
  for (const auto [begin, end] : windows)
    for (index i = begin; i < end; ++i) {
      const offset from = a.row_begin[i], to = from + std::min(a.row_length(i), longest);
      out.col.insert(out.col.end(), a.col.begin() + from, a.col.begin() + to);
      out.val.insert(out.val.end(), a.val.begin() + from, a.val.begin() + to);
      out.row_begin.push_back(out.row_begin.back() + (to - from));
    }
  out.rows = static_cast<index>(out.row_begin.size()) - 1;
  return out;
}

template <class V> double read_speed(const csr<V>& a) {
  using clock = std::chrono::steady_clock;
  constexpr offset most_bytes = offset{256} << 20;
  const offset entries = std::min<offset>(a.nnz(), most_bytes / offset{sizeof(V) + sizeof(index)});
  const auto threads = thread_count(0);
  double shortest = std::numeric_limits<double>::infinity();
  [[maybe_unused]] volatile std::uint64_t kept = 0;  // or nothing would have to be read
  for (int round = 0; round < 4; ++round) {
    std::uint64_t sum = 0;
    const auto start = clock::now();
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int t = 0; t < threads; ++t) {
      const offset begin = entries / threads * t, end = entries / threads * (t + 1);
      sum += sum_of(a.val.data(), begin, end) + sum_of(a.col.data(), begin, end);
    }
    shortest = std::min(shortest, std::chrono::duration<double>(clock::now() - start).count());
    kept = sum;
  }
  return static_cast<double>(entries) * (sizeof(V) + sizeof(index)) / std::max(shortest, 1e-9);
}

template matrix_survey survey(const csr<float>&);
template matrix_survey survey(const csr<double>&);
template csr<float> sample_windows(const csr<float>&, offset);
template csr<double> sample_windows(const csr<double>&, offset);
template double read_speed(const csr<float>&);
template double read_speed(const csr<double>&);

}  // namespace nz
