#include <cstdint>
#include <type_traits>

#include <nonzero/core/find_first.hpp>
#include <nonzero/formats/invariants_internal.hpp>

namespace nz {
namespace {

/// In words without a sign, whose sums wrap around: compilers vectorise these loops on every machine.
template <class T> using word = std::make_unsigned_t<T>;
template <class T> constexpr bool has_sign(word<T> bits) { return static_cast<T>(bits) < 0; }

}  // namespace

void invariants::fail(const std::string& what) const {
  throw shape_error(fmt::format("{}: {}", format, what));
}

void invariants::sizes(index rows, index cols) const {
  that(rows >= 0 && cols >= 0, "a size of {} x {} is negative", rows, cols);
}

void invariants::length(std::string_view array, std::size_t found, offset expected) const {
  that(found == static_cast<std::size_t>(expected), "{} is {} long instead of {}{}", array, found, expected,
       found == 0 ? "; was the matrix moved to another, or not filled?" : "");
}

offset invariants::find_outside(std::span<const index> values, index limit) {
  const word<index> last = static_cast<word<index>>(limit) - 1;
  const auto might_have = [&](std::int64_t begin, std::int64_t end) {
    word<index> bits = 0;  // the sign is set by a value that is negative, or above the last
    for (std::int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<word<index>>(values[static_cast<std::size_t>(i)]);
      bits |= value | (last - value);
    }
    return has_sign<index>(bits);
  };
  return find_first(static_cast<std::int64_t>(values.size()), might_have, [&](std::int64_t i) {
    const index value = values[static_cast<std::size_t>(i)];
    return value < 0 || value >= limit;
  });
}

std::string invariants::outside(index limit) {
  return limit > 0 ? fmt::format("outside 0 to {}", limit - 1) : "but there is none to name";
}

void invariants::within(std::string_view array, std::span<const index> values, index limit) const {
  const auto at = static_cast<std::size_t>(find_outside(values, limit));
  if (at < values.size())
    fail(fmt::format("{} is {} at position {} (counted from 1), {}", array, values[at], at + 1,
                     outside(limit)));
}

template <class T> void invariants::never_falls(std::string_view array, std::span<const T> values) const {
  if (values.empty()) return;
  const auto might_have = [&](std::int64_t begin, std::int64_t end) {
    word<T> bits = 0;  // the sign is set by a value that is negative, or less than the one before
    for (std::int64_t i = begin; i < end; ++i) {
      const auto here = static_cast<word<T>>(values[static_cast<std::size_t>(i)]),
                 next = static_cast<word<T>>(values[static_cast<std::size_t>(i) + 1]);
      bits |= next | (next - here);
    }
    return has_sign<T>(bits);
  };
  const auto steps = static_cast<std::int64_t>(values.size()) - 1;
  const auto at = static_cast<std::size_t>(find_first(steps, might_have, [&](std::int64_t i) {
    return values[static_cast<std::size_t>(i) + 1] < values[static_cast<std::size_t>(i)];
  }));
  if (at < static_cast<std::size_t>(steps))
    fail(fmt::format("{} falls from {} to {} at position {} (counted from 1)", array, values[at],
                     values[at + 1], at + 2));
}

template <class T>
void invariants::begins(std::string_view array, std::span<const T> begin, offset total) const {
  that(!begin.empty() && begin.front() == 0, "{} does not start at 0", array);
  never_falls(array, begin);
  that(begin.back() == total, "{} ends at {} instead of the {} entries", array, begin.back(), total);
}

void invariants::rises(std::string_view array, std::span<const index> values, offset first,
                       offset last) const {
  for (offset i = first + 1; i < last; ++i)
    if (values[i] <= values[i - 1])
      fail(fmt::format("{} does not rise from {} to {} at position {} (counted from 1)", array, values[i - 1],
                       values[i], i + 1));
}

void invariants::permutation(std::string_view array, std::span<const index> row) const {
  within(array, row, static_cast<index>(row.size()));
  nz::array<unsigned char> seen(row.size(), 0);
  for (const index i : row)
    if (seen[i]++) fail(fmt::format("{} names {} twice", array, i));
}

#define NONZERO_INSTANTIATE(T)                                                             \
  template void invariants::never_falls(std::string_view array, std::span<const T>) const; \
  template void invariants::begins(std::string_view array, std::span<const T>, offset) const;
NONZERO_INSTANTIATE(std::int32_t)
NONZERO_INSTANTIATE(std::int64_t)
#undef NONZERO_INSTANTIATE

}  // namespace nz
