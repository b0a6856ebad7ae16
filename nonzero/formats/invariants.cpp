#include <nonzero/formats/invariants_internal.hpp>

namespace nz {

void invariants::fail(const std::string& what) const {
  throw shape_error(fmt::format("{}: {}", format, what));
}

void invariants::sizes(index rows, index cols) const {
  that(rows >= 0 && cols >= 0, "a size of {} x {} is negative", rows, cols);
}

void invariants::length(std::string_view array, std::size_t found, offset expected) const {
  that(found == static_cast<std::size_t>(expected), "{} is {} long instead of {}", array, found, expected);
}

void invariants::within(std::string_view array, std::span<const index> values, index limit) const {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= limit)
      fail(fmt::format("{}[{}] is {}, outside 0 to {}", array, i, values[i], limit - 1));
}

void invariants::begins(std::string_view array, std::span<const offset> begin, offset total) const {
  that(!begin.empty() && begin.front() == 0, "{} does not start at 0", array);
  never_falls(array, begin);
  that(begin.back() == total, "{} ends at {} instead of the {} entries", array, begin.back(), total);
}

void invariants::rises(std::string_view array, std::span<const index> values, offset first,
                       offset last) const {
  for (offset i = first + 1; i < last; ++i)
    if (values[i] <= values[i - 1])
      fail(fmt::format("{} does not rise from {} to {} at position {}", array, values[i - 1], values[i], i));
}

void invariants::permutation(std::string_view array, std::span<const index> row) const {
  within(array, row, static_cast<index>(row.size()));
  nz::array<unsigned char> seen(row.size(), 0);
  for (const index i : row)
    if (seen[i]++) fail(fmt::format("{} names {} twice", array, i));
}

}  // namespace nz
