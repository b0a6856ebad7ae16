#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz {
namespace {

constexpr offset entries_per_task = 16384;

/// Appends a number and a character; `to` must have room for 32 bytes. std::to_chars writes the fewest digits
/// that read back the same.
template <class Number> char* append(char* to, Number number, char then) {
  to = std::to_chars(to, to + 31, number).ptr;
  *to++ = then;
  return to;
}

/// The lines of the entries [begin, end).
template <class V> void format_entries(csr_view<V> a, offset begin, offset end, array<char>& out) {
  constexpr std::size_t longest_line = 96;
  out.resize(static_cast<std::size_t>(end - begin) * longest_line);
  char* to = out.data();
  auto row = std::upper_bound(a.row_begin.begin(), a.row_begin.end(), begin) - a.row_begin.begin() - 1;
  for (offset k = begin; k < end; ++k) {
    while (a.row_begin[row + 1] <= k) ++row;
    to = append(to, row + 1, ' ');
    to = append(to, offset{a.col[k]} + 1, ' ');
    to = append(to, a.val[k], '\n');
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

/// Formats [0, count) by tasks in parallel, a few at a time, and writes the segments in order.
template <class Format> void write_in_parallel(output_file& file, offset count, const Format& format) {
  const offset tasks = (count + entries_per_task - 1) / entries_per_task;
  std::vector<array<char>> segments(4 * static_cast<std::size_t>(thread_count(0)));
  for (offset first = 0; first < tasks; first += static_cast<offset>(segments.size())) {
    const offset batch = std::min<offset>(tasks - first, static_cast<offset>(segments.size()));
    parallel_tasks(batch, 0, [&](std::int64_t t) {
      const offset begin = (first + t) * entries_per_task;
      format(begin, std::min(begin + entries_per_task, count), segments[t]);
    });
    for (offset t = 0; t < batch; ++t) file.write(segments[t].data(), segments[t].size());
  }
}

}  // namespace

template <class V> void write_matrix_market(const std::filesystem::path& path, csr_view<V> a) {
  output_file file(path);
  const std::string head =
      fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", a.rows, a.cols, a.nnz());
  file.write(head.data(), head.size());
  write_in_parallel(file, a.nnz(),
                    [&](offset begin, offset end, array<char>& out) { format_entries(a, begin, end, out); });
  file.commit();
}

template <class V> void write_vector(const std::filesystem::path& path, std::span<const V> x) {
  output_file file(path);
  const std::string head = fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", x.size());
  file.write(head.data(), head.size());
  write_in_parallel(file, static_cast<offset>(x.size()), [&](offset begin, offset end, array<char>& out) {
    out.resize(static_cast<std::size_t>(end - begin) * 32);
    char* to = out.data();
    for (offset k = begin; k < end; ++k) to = append(to, x[k], '\n');
    out.resize(static_cast<std::size_t>(to - out.data()));
  });
  file.commit();
}

#define NONZERO_INSTANTIATE(V)                                                  \
  template void write_matrix_market(const std::filesystem::path&, csr_view<V>); \
  template void write_vector(const std::filesystem::path&, std::span<const V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
