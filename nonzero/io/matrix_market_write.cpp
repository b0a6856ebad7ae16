#include <algorithm>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz {
namespace {

/// Appends a number and a character; `to` must have room for 32 bytes. std::to_chars writes the fewest digits
/// that read back the same.
template <class Number> char* append(char* to, Number number, char then) {
  to = std::to_chars(to, to + 31, number).ptr;
  *to++ = then;
  return to;
}

/// Writes a head and `count` lines. format(begin, end, to) formats the lines [begin, end) at `to` and returns
/// their end: tasks do so in parallel, a few at a time, and their text is written in order.
template <class Format>
void write_lines(const std::filesystem::path& path, const std::string& head, offset count,
                 std::size_t longest_line, const Format& format) {
  constexpr offset lines_per_task = 16384;
  output_file file(path);
  file.write(head.data(), head.size());
  const offset tasks = (count + lines_per_task - 1) / lines_per_task;
  std::vector<array<char>> texts(4 * static_cast<std::size_t>(thread_count(0)));
  for (offset first = 0; first < tasks; first += static_cast<offset>(texts.size())) {
    const offset batch = std::min<offset>(tasks - first, static_cast<offset>(texts.size()));
    parallel_tasks(batch, 0, [&](std::int64_t t) {
      const offset begin = (first + t) * lines_per_task, end = std::min(begin + lines_per_task, count);
      array<char>& text = texts[t];
      text.resize(static_cast<std::size_t>(end - begin) * longest_line);
      text.resize(static_cast<std::size_t>(format(begin, end, text.data()) - text.data()));
    });
    for (offset t = 0; t < batch; ++t) file.write(texts[t].data(), texts[t].size());
  }
  file.commit();
}

}  // namespace

template <class V> void write_matrix_market(const std::filesystem::path& path, csr_view<V> a) {
  a = validated(a);
  const std::string head =
      fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", a.rows, a.cols, a.nnz());
  write_lines(path, head, a.nnz(), 96, [&](offset begin, offset end, char* to) {
    auto row = std::upper_bound(a.row_begin.begin(), a.row_begin.end(), begin) - a.row_begin.begin() - 1;
    for (offset k = begin; k < end; ++k) {
      while (a.row_begin[row + 1] <= k) ++row;
      to = append(to, row + 1, ' ');
      to = append(to, offset{a.col[k]} + 1, ' ');
      to = append(to, a.val[k], '\n');
    }
    return to;
  });
}

template <class V> void write_vector(const std::filesystem::path& path, std::span<const V> x) {
  if (x.data() == nullptr && !x.empty()) throw shape_error("x is a null pointer with a length above 0");
  const std::string head = fmt::format("%%MatrixMarket matrix array real general\n{} 1\n", x.size());
  write_lines(path, head, static_cast<offset>(x.size()), 32, [&](offset begin, offset end, char* to) {
    for (offset k = begin; k < end; ++k) to = append(to, x[k], '\n');
    return to;
  });
}

#define NONZERO_INSTANTIATE(V)                                                  \
  template void write_matrix_market(const std::filesystem::path&, csr_view<V>); \
  template void write_vector(const std::filesystem::path&, std::span<const V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
