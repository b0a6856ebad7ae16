#include <fmt/format.h>

#include <nonzero/core/array.hpp>
#include <nonzero/core/errors.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz::invariants {

void sizes_are_not_negative(std::string_view format, index rows, index cols) {
  if (rows < 0 || cols < 0)
    throw shape_error(fmt::format("{}: a size of {} x {} is negative", format, rows, cols));
}

void length_is(std::string_view format, std::string_view array, std::size_t length, offset expected) {
  if (length == static_cast<std::size_t>(expected)) return;
  throw shape_error(fmt::format("{}: {} is {} long instead of {}", format, array, length, expected));
}

void never_falls(std::string_view format, std::string_view array, std::span<const index> values) {
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] < values[i - 1])
      throw shape_error(fmt::format("{}: {} falls from {} to {} at position {}", format, array, values[i - 1],
                                    values[i], i));
}

void begins_cover(std::string_view format, std::string_view array, std::span<const offset> begin,
                  offset total) {
  if (begin.empty() || begin.front() != 0)
    throw shape_error(fmt::format("{}: {} does not start at 0", format, array));
  for (std::size_t i = 1; i < begin.size(); ++i)
    if (begin[i] < begin[i - 1])
      throw shape_error(
          fmt::format("{}: {} falls from {} to {} at position {}", format, array, begin[i - 1], begin[i], i));
  if (begin.back() != total)
    throw shape_error(
        fmt::format("{}: {} ends at {} instead of the {} entries", format, array, begin.back(), total));
}

void within(std::string_view format, std::string_view array, std::span<const index> values, index limit) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= limit)
      throw shape_error(
          fmt::format("{}: {}[{}] is {}, outside 0 to {}", format, array, i, values[i], limit - 1));
}

void is_permutation(std::string_view format, std::string_view array, std::span<const index> row) {
  within(format, array, row, static_cast<index>(row.size()));
  nz::array<unsigned char> seen(row.size(), 0);
  for (const index i : row)
    if (seen[i]++) throw shape_error(fmt::format("{}: {} names {} twice", format, array, i));
}

}  // namespace nz::invariants
