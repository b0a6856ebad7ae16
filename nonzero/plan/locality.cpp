#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <nonzero/core/values.hpp>
#include <nonzero/plan/locality.hpp>

namespace nz {
namespace {

constexpr offset window = 2048;      // entries
constexpr offset most_windows = 64;  // of them
constexpr offset one_in = 64;        // the sample is at most one entry in 64
constexpr offset windows_per_search = 4;
constexpr offset far = 16'384;  // columns
constexpr index line_bytes = 64;

/// A set of up to `window` numbers. clear() costs nothing: slots of earlier rounds count as free.
class small_set {
 public:
  small_set() : places_(places, place{0, 0}) {}
  void clear() { ++round_; }
  /// Whether it was not in it yet.
  bool insert(index number) {
    auto at = static_cast<std::uint32_t>(number) * 2654435769u >> (32 - bits);  // 2^32 / the golden ratio
    for (; places_[at].round == round_; at = (at + 1) % places)
      if (places_[at].number == number) return false;
    places_[at] = {number, round_};
    return true;
  }

 private:
  static constexpr int bits = 13;  // four places for each number
  static constexpr std::uint32_t places = 1u << bits;
  static_assert(window * 4 <= places);
  struct place {
    index number;
    std::uint32_t round;
  };
  array<place> places_;
  std::uint32_t round_ = 1;
};

/// The row that entry k is in.
template <class V> index row_of(csr_view<V> a, offset k) {
  return static_cast<index>(std::upper_bound(a.row_begin.begin(), a.row_begin.end(), k) -
                            a.row_begin.begin() - 1);
}

struct counts {
  offset lines = 0, far = 0;                          // in windows
  offset searched_entries = 0, searched_columns = 0;  // by searches
};

/// The window that begins at entry `first`, in `row`.
template <class V> void look_at_window(csr_view<V> a, offset first, index row, small_set& seen, counts& out) {
  const offset last = std::min(first + window, a.nnz());
  const double slope = static_cast<double>(a.cols) / a.rows;
  seen.clear();
  for (offset k = first; k < last; ++k) {
    while (a.row_begin[row + 1] <= k) ++row;
    const index j = a.col[k];
    out.lines += seen.insert(j / static_cast<index>(line_bytes / sizeof(V)));
    out.far += std::abs(j - static_cast<offset>(row * slope)) > far;
  }
}

/// The rows around `start`, breadth first.
template <class V>
void search_breadth_first(csr_view<V> a, index start, small_set& seen, array<index>& queue, counts& out) {
  seen.clear();
  queue.assign(1, start);
  offset left = window;
  offset columns = 0;
  for (std::size_t head = 0; head < queue.size() && left > 0; ++head) {
    const offset begin = a.row_begin[queue[head]];
    const offset end = std::min(a.row_begin[queue[head] + 1], begin + left);
    for (offset k = begin; k < end; ++k)
      if (seen.insert(a.col[k])) {
        ++columns;
        if (a.col[k] != start) queue.push_back(a.col[k]);
      }
    left -= end - begin;
  }
  out.searched_entries += window - left;
  out.searched_columns += columns;
}

}  // namespace

template <class V> locality find_locality(csr_view<V> a) {
  a = validated(a);
  const offset entries = a.nnz();
  if (entries == 0) return {};
  const offset windows = std::clamp<offset>(entries / (one_in * window), 1, most_windows);
  const bool is_square = a.rows == a.cols;
  small_set seen;
  array<index> queue;
  counts found;
  offset looked_at = 0;
  for (offset w = 0; w < windows; ++w) {
    // The middle of the w-th range: without overflow, and without the ends of the matrix, which are special.
    const offset range = entries / windows;
    const offset first = w * range + std::max<offset>(0, (range - window) / 2);
    const index row = row_of(a, first);
    look_at_window(a, first, row, seen, found);
    looked_at += std::min(window, entries - first);
    if (is_square && w % windows_per_search == 0) search_breadth_first(a, row, seen, queue, found);
  }
  const auto total = static_cast<double>(looked_at);
  return {static_cast<double>(found.lines) / total, static_cast<double>(found.far) / total,
          is_square
              ? static_cast<double>(found.searched_columns) / static_cast<double>(found.searched_entries)
              : 1.0};
}

#define NONZERO_INSTANTIATE(V) template locality find_locality(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
