#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/cpu/kernels.hpp>
#include <nonzero/plan/cpu_survey_internal.hpp>

namespace nz {
namespace {

struct row_range {
  index begin, end;
};

/// A window of about `entries` that begins at or just before `row`. Both ends are multiples of a power of two
/// of rows, as large as possible without making the window much longer.
template <class V> row_range place_window(csr_view<V> a, index row, offset entries) {
  constexpr index most_alignment = 1024, most_rows = 16 * most_alignment;
  for (index alignment = most_alignment;; alignment /= 2) {
    const index begin = row / alignment * alignment;
    const auto full = std::lower_bound(a.row_begin.begin() + begin + 1, a.row_begin.end() - 1,
                                       a.row_begin[begin] + entries);
    const std::int64_t rows = std::min<std::int64_t>(full - a.row_begin.begin() - begin, most_rows);
    const std::int64_t end = begin + (rows + alignment - 1) / alignment * alignment;
    const row_range out{begin, static_cast<index>(std::min<std::int64_t>(end, a.rows))};
    if (alignment == 1 || a.row_begin[out.end] - a.row_begin[begin] <= 2 * entries) return out;
  }
}

/// At even distances among the entries, not among the rows, because time depends on entries.
template <class V> std::vector<row_range> place_windows(csr_view<V> a, offset entries) {
  constexpr offset least_window = 12 * 1024, most_windows = 8;
  const offset windows = std::clamp<offset>(entries / least_window, 1, most_windows);
  std::vector<row_range> out;
  index free_from = 0;
  for (offset w = 0; w < windows; ++w) {
    const offset middle = a.nnz() / windows * w + a.nnz() / windows / 2;
    const auto after = std::upper_bound(a.row_begin.begin(), a.row_begin.end() - 1, middle);
    const auto row = static_cast<index>(after - a.row_begin.begin() - 1);
    row_range window = place_window(a, row, entries / windows);
    window.begin = std::max(window.begin, free_from);
    if (window.begin < window.end) out.push_back(window);
    free_from = std::max(free_from, window.end);
  }
  // An odd number of rows: arrays whose lengths are a power of two would use the same few cache sets, unlike
  // those of the whole matrix.
  constexpr index odd_rows = 72;
  if (!out.empty() && out.back().end - out.back().begin > 4 * odd_rows) out.back().end -= odd_rows;
  return out;
}

/// The sum of the values' bits as integers, which compilers vectorize. Reads four streams at once: one is
/// not all that a core can have in flight.
template <class T> std::uint64_t sum_of(const T* values, offset begin, offset end) {
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr offset streams = 4, width = 64 / sizeof(T);
  bits sums[streams][width] = {};
  const offset length = (end - begin) / streams;
  for (offset k = begin; k + width <= begin + length; k += width)
    for (offset s = 0; s < streams; ++s)
      for (offset e = 0; e < width; ++e) sums[s][e] += std::bit_cast<bits>(values[s * length + k + e]);
  std::uint64_t sum = 0;
  for (const auto& stream_sums : sums)
    for (const bits one : stream_sums) sum += one;
  return sum;
}

}  // namespace

template <class V> offset find_longest_row(csr_view<V> a) {
  constexpr std::int64_t grain = 1 << 16;
  std::atomic<offset> longest = 0;
  parallel_ranges(a.rows, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    offset most = 0;
    for (auto i = static_cast<index>(begin); i < end; ++i) most = std::max(most, a.row_length(i));
    for (offset seen = longest; most > seen && !longest.compare_exchange_weak(seen, most);) {
    }
  });
  return longest;
}

template <class V> csr<V> sample_windows(csr_view<V> a, offset entries) {
  if (a.nnz() <= entries + entries / 2) return copy_of(a);
  const std::vector<row_range> windows = place_windows(a, entries);
  const offset longest = entries / 4;  // of a row
  csr<V> out;
  out.cols = a.cols;
  out.col.reserve(static_cast<std::size_t>(2 * entries));  // few samples are longer
  out.val.reserve(static_cast<std::size_t>(2 * entries));
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

template <class V> double read_speed(csr_view<V> a) {
  using clock = std::chrono::steady_clock;
  constexpr offset most_bytes = offset{256} << 20;
  const offset entries = std::min<offset>(a.nnz(), most_bytes / offset{sizeof(V) + sizeof(index)});
  const int threads = is_for_one_thread(a.rows, a.nnz()) ? 1 : thread_count();
  double shortest = std::numeric_limits<double>::infinity();
  [[maybe_unused]] volatile std::uint64_t kept = 0;  // or the compiler would drop the reads
  for (int round = 0; round < 2; ++round) {
    std::atomic<std::uint64_t> sum{0};
    const auto start = clock::now();
    in_team(threads, [&](const team_thread& me) {
      const auto [begin, end] = me.equal_range(entries);
      sum += sum_of(a.val.data(), begin, end) + sum_of(a.col.data(), begin, end);
    });
    shortest = std::min(shortest, std::chrono::duration<double>(clock::now() - start).count());
    kept = sum;
  }
  return static_cast<double>(entries) * (sizeof(V) + sizeof(index)) / std::max(shortest, 1e-9);
}

#define NONZERO_INSTANTIATE(V)                         \
  template offset find_longest_row(csr_view<V>);       \
  template csr<V> sample_windows(csr_view<V>, offset); \
  template double read_speed(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
