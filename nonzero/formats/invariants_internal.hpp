#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <nonzero/formats/ell.hpp>

namespace nz {

/// What `validate` of a format uses. Every function throws `shape_error` naming the format, and of an array
/// the first wrong place.
struct invariants {
  std::string_view format;

  template <class... Args>
  void that(bool holds, fmt::format_string<Args...> otherwise, Args&&... args) const {
    if (!holds) fail(fmt::format(otherwise, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail(const std::string& what) const;

  void sizes(index rows, index cols) const;  // >= 0
  void length(std::string_view array, std::size_t found, offset expected) const;
  /// An array that is not empty is somewhere.
  template <class T> void somewhere(std::string_view array, std::span<T> values) const {
    that(values.empty() || values.data() != nullptr, "{} is {} long, at a null pointer", array,
         values.size());
  }
  void within(std::string_view array, std::span<const index> values, index limit) const;
  /// The first place of a value outside 0 to limit - 1; the length: none. In parallel.
  static offset find_outside(std::span<const index> values, index limit);
  static std::string outside(index limit);
  /// Neither falls nor, after a first one that is not, is negative. In parallel.
  template <class T> void never_falls(std::string_view array, std::span<const T> values) const;
  /// Starts at 0, never falls and ends at `total`.
  template <class T> void begins(std::string_view array, std::span<const T> begin, offset total) const;
  template <class T> void begins(std::string_view array, const nz::array<T>& begin, offset total) const {
    begins(array, std::span<const T>(begin), total);
  }
  /// Rises from position `first` to position `last` - 1.
  void rises(std::string_view array, std::span<const index> values, offset first, offset last) const;
  /// `row` has each of 0 … rows-1 once.
  void permutation(std::string_view array, std::span<const index> row) const;

  /// Places with a column in the matrix, or with padding_column and the value 0.
  template <class V> void places(const array<index>& col, const array<V>& val, index cols) const {
    for (std::size_t at = 0; at < col.size(); ++at)
      if (col[at] == padding_column)
        that(val[at] == V{0}, "the padding at position {} (counted from 1) holds a value", at + 1);
      else if (col[at] < 0 || col[at] >= cols)
        fail(fmt::format("col is {} at position {} (counted from 1), {}", col[at], at + 1, outside(cols)));
  }
  /// The places [first, last) have the longest rows first; rows of equal length are in the order of the
  /// matrix. length_of(place) is called in the order of places.
  template <class Length>
  void sorted_by_length(std::span<const index> row, index first, index last, Length length_of) const {
    offset longer = 0;
    for (index p = first; p < last; ++p) {
      const offset here = length_of(p);
      if (p > first) {
        that(here <= longer, "place {} (counted from 1) is longer than the one before it", p + 1);
        that(here < longer || row[p] > row[p - 1],
             "rows {} and {} (counted from 1) are equally long but out of order", row[p - 1] + 1, row[p] + 1);
      }
      longer = here;
    }
  }
};

}  // namespace nz
