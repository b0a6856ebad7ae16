#include <algorithm>
#include <atomic>
#include <cstdint>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/reorder.hpp>

namespace nz {
namespace {

/// Which nodes are neighbours. A neighbour may be listed twice, and a node may be its own neighbour.
struct graph {
  std::span<const offset> begin;     // nodes+1 long
  std::span<const index> neighbour;  // of node v: [begin[v], begin[v+1])

  index nodes() const { return static_cast<index>(begin.size() - 1); }
  offset degree(index v) const { return begin[v + 1] - begin[v]; }
  std::span<const index> neighbours(index v) const {
    return neighbour.subspan(static_cast<std::size_t>(begin[v]), static_cast<std::size_t>(degree(v)));
  }
};

/// The arrays of a graph that is not a matrix's own.
struct owned_graph {
  array<offset> begin;
  array<index> neighbour;
};

/// A hash of a pair; only differences of sums of them are used.
std::uint64_t mix(std::uint64_t pair) {
  pair *= 0x9e3779b97f4a7c15u;  // odd, its bits evenly spread: 2^64 / the golden ratio
  pair ^= pair >> 32;
  return pair * pair;
}

/// Whether (i, j) and (j, i) are entries equally often. Adds a hash of the pair for each entry with i < j and
/// subtracts it for each with i > j: one pass and no transpose. A sum that is 0 by accident (once in about
/// 2^64) costs a good order, nothing else.
template <class V> bool has_symmetric_pattern(csr_view<V> a) {
  std::atomic<std::uint64_t> difference{0};
  parallel_ranges(a.rows, 1 << 15, 0, [&](std::int64_t first, std::int64_t last) {
    std::uint64_t sum = 0;
    for (auto i = static_cast<index>(first); i < last; ++i)
      for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) {
        const index j = a.col[k];
        const auto low = static_cast<std::uint64_t>(std::min(i, j));
        const std::uint64_t mixed = mix(low << 32 | static_cast<std::uint64_t>(std::max(i, j)));
        sum += i < j ? mixed : 0;
        sum -= i > j ? mixed : 0;
      }
    difference += sum;
  });
  return difference == 0;
}

/// Each row of A followed by the same row of A^T. What is in both is there twice: harmless, and cheaper than
/// taking it out.
template <class V> owned_graph symmetrise(csr_view<V> a) {
  const auto n = static_cast<std::size_t>(a.rows);
  owned_graph out{array<offset>(n + 1, 0), array<index>(2 * a.col.size())};
  // Counts are one place late: filling then moves each begin to its right place.
  for (const index j : a.col)
    if (j + 1 < a.rows) ++out.begin[j + 2];
  for (index i = 0; i + 1 < a.rows; ++i) out.begin[i + 2] += a.row_length(i);
  for (std::size_t i = 2; i <= n; ++i) out.begin[i] += out.begin[i - 1];
  for (index i = 0; i < a.rows; ++i) {
    const offset length = a.row_length(i);
    std::copy_n(a.col.begin() + a.row_begin[i], length, out.neighbour.begin() + out.begin[i + 1]);
    out.begin[i + 1] += length;
  }
  for (index i = 0; i < a.rows; ++i)
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) out.neighbour[out.begin[a.col[k] + 1]++] = i;
  return out;
}

/// The nodes that have no number yet, one bit each: looking up neighbours is most of the work, and the bits
/// of millions of nodes fit into a core's cache.
class waiting_nodes {
 public:
  explicit waiting_nodes(index nodes) : bits_(static_cast<std::size_t>(nodes) / 8 + 1, 0xff) {}
  bool has(index v) const { return (bits_[v >> 3] >> (v & 7) & 1) != 0; }
  void insert(index v) { bits_[v >> 3] |= static_cast<std::uint8_t>(1 << (v & 7)); }
  void remove(index v) { bits_[v >> 3] &= static_cast<std::uint8_t>(~(1 << (v & 7))); }

 private:
  array<std::uint8_t> bits_;
};

/// Prefetches what the search will need of nodes further down its queue: a cache miss takes as long as many
/// nodes.
// Always inlined: GCC 12 treats a function that only prefetches as one without effect, and drops the call.
[[gnu::always_inline]] inline void prefetch_ahead(const graph& g, const index* queue, index head,
                                                  index tail) {
  constexpr index soon = 16, later = 32;
  if (later < tail - head) __builtin_prefetch(&g.begin[queue[head + later]]);
  if (soon >= tail - head) return;
  const auto first = static_cast<std::size_t>(g.begin[queue[head + soon]]);
  __builtin_prefetch(g.neighbour.data() + first);
  __builtin_prefetch(g.neighbour.data() + std::min(first + 64 / sizeof(index), g.neighbour.size()));
}

/// The degrees, no more than 255 of them: enough to tell the nodes of a mesh apart, and a small array.
array<std::uint8_t> find_degrees(const graph& g) {
  array<std::uint8_t> out(static_cast<std::size_t>(g.nodes()));
  for (index v = 0; v < g.nodes(); ++v)
    out[v] = static_cast<std::uint8_t>(std::min<offset>(g.degree(v), 255));
  return out;
}

/// Numbers the nodes of a graph, one connected component after the other.
class numbering {
 public:
  explicit numbering(const graph& g)
      : graph_(g),
        degree_(find_degrees(g)),
        waiting_(g.nodes()),
        order_(static_cast<std::size_t>(g.nodes())) {}

  array<index> backwards() && {
    for (index v = 0; v < graph_.nodes(); ++v)
      if (waiting_.has(v)) number_from(find_far_node(v));
    std::reverse(order_.begin(), order_.end());
    return std::move(order_);
  }

 private:
  /// A node of small degree among the waiting ones furthest from `start`. Uses the free end of `order_`.
  index find_far_node(index start) {
    index* queue = order_.data() + numbered_;
    index tail = 0, level_begin = 0, level_end = 1;
    queue[tail++] = start;
    waiting_.remove(start);
    for (index head = 0; head < tail; ++head) {
      if (head == level_end) {
        level_begin = head;
        level_end = tail;
      }
      prefetch_ahead(graph_, queue, head, tail);
      for (const index w : graph_.neighbours(queue[head]))
        if (waiting_.has(w)) {
          waiting_.remove(w);
          queue[tail++] = w;
        }
    }
    for (index i = 0; i < tail; ++i) waiting_.insert(queue[i]);
    return *std::min_element(queue + level_begin, queue + tail,
                             [&](index v, index w) { return degree_[v] < degree_[w]; });
  }

  /// Cuthill–McKee: numbers the waiting nodes that can be reached from `start`, and that one.
  void number_from(index start) {
    index* queue = order_.data() + numbered_;
    index tail = 0;
    queue[tail++] = start;
    waiting_.remove(start);
    for (index head = 0; head < tail; ++head) {
      prefetch_ahead(graph_, queue, head, tail);
      found_.clear();
      for (const index w : graph_.neighbours(queue[head]))
        if (waiting_.has(w)) {
          waiting_.remove(w);
          found_.push_back(std::uint64_t{degree_[w]} << 32 | static_cast<std::uint64_t>(w));
        }
      if (found_.size() > 1) std::sort(found_.begin(), found_.end());
      for (const std::uint64_t key : found_) queue[tail++] = static_cast<index>(key);
    }
    numbered_ += tail;
  }

  graph graph_;
  array<std::uint8_t> degree_;
  waiting_nodes waiting_;
  array<index> order_;          // the first `numbered_` are final
  array<std::uint64_t> found_;  // a node's waiting neighbours: degree * 2^32 + node
  index numbered_ = 0;
};

}  // namespace

template <class V> array<index> reverse_cuthill_mckee(csr_view<V> a) {
  if (a.rows != a.cols)
    throw shape_error(
        fmt::format("a matrix of {} x {} cannot be reordered by reverse Cuthill–McKee: it is not square",
                    a.rows, a.cols));
  if (has_symmetric_pattern(a)) return numbering({a.row_begin, a.col}).backwards();
  const owned_graph both = symmetrise(a);
  return numbering({both.begin, both.neighbour}).backwards();
}

#define NONZERO_INSTANTIATE(V) template array<index> reverse_cuthill_mckee(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
