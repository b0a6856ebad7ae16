#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <nonzero/core/epilogue.hpp>
#include <nonzero/core/scratch.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/plan/reorder.hpp>

namespace nz {
namespace {

constexpr index grain = 1 << 13;  // rows that are worth a thread

/// Row lengths of the result, added up.
template <class V> array<offset> begin_rows(csr_view<V> a, std::span<const index> order) {
  array<offset> begin(order.size() + 1);
  parallel_ranges(a.rows, grain, 0, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) begin[i + 1] = a.row_length(order[i]);
  });
  begin[0] = 0;
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  return begin;
}

/// Sorts a row by column as it copies it; one for each thread.
template <class V> class row_sorter {
 public:
  /// Writes the `length` entries of columns `position[col]` and values `val`.
  void copy(const index* col, const V* val, offset length, const index* position, index* to_col, V* to_val) {
    if (length > longest_ranked) return copy_long(col, val, length, position, to_col, to_val);
    index key[longest_ranked] = {};
    for (offset k = 0; k < length; ++k) key[k] = position[col[k]];
    // The rank of an entry is how many go before it: as many comparisons as pairs, but no branch among them,
    // and vectors of them at a time.
    for (offset k = 0; k < length; ++k) {
      index rank = 0;
      for (offset m = 0; m < k; ++m) rank += key[m] <= key[k];
      for (offset m = k + 1; m < length; ++m) rank += key[m] < key[k];
      to_col[rank] = key[k];
      to_val[rank] = val[k];
    }
  }

 private:
  static constexpr offset longest_ranked = 64;

  struct numbered {
    index col;
    offset at;
  };

  void copy_long(const index* col, const V* val, offset length, const index* position, index* to_col,
                 V* to_val) {
    entries_.resize(static_cast<std::size_t>(length));
    for (offset k = 0; k < length; ++k) entries_[k] = {position[col[k]], k};
    std::sort(entries_.begin(), entries_.end(),
              [](numbered a, numbered b) { return a.col != b.col ? a.col < b.col : a.at < b.at; });
    for (offset k = 0; k < length; ++k) {
      to_col[k] = entries_[k].col;
      to_val[k] = val[entries_[k].at];
    }
  }

  array<numbered> entries_;
};

/// Old rows are scattered over the matrix: prefetches what will soon be copied.
// Always inlined: GCC 12 treats a function that only prefetches as one without effect, and drops the call.
template <class V>
[[gnu::always_inline]] inline void prefetch_ahead(csr_view<V> a, std::span<const index> order,
                                                  const array<index>& position, std::int64_t i) {
  constexpr std::int64_t next = 4, soon = 12, later = 24;
  const auto last = static_cast<std::int64_t>(order.size()) - 1;
  __builtin_prefetch(&a.row_begin[order[std::min(i + later, last)]]);
  const offset k = a.row_begin[order[std::min(i + soon, last)]];
  __builtin_prefetch(a.col.data() + k);
  __builtin_prefetch(a.val.data() + k);
  __builtin_prefetch(a.val.data() + std::min<offset>(k + 64 / sizeof(V), a.nnz()));  // the next line
  const index row = order[std::min(i + next, last)];
  for (offset m = a.row_begin[row]; m < a.row_begin[row + 1]; ++m) __builtin_prefetch(&position[a.col[m]]);
}

constexpr index worth_threads = 1 << 14;  // rows; below it, starting them takes longer than they save

template <class V> class reordered final : public prepared_matrix<V> {
 public:
  /// `position[old] = new`
  reordered(std::unique_ptr<prepared_matrix<V>> inner, array<index> position)
      : prepared_matrix<V>(inner->rows(), inner->cols(), inner->where()),
        inner_(std::move(inner)),
        position_(std::move(position)),
        scratch_([n = position_.size()] {
          return ordered_vectors{array<V>(n), array<V>(n)};
        }) {}

  footprint storage() const override {
    footprint out = inner_->storage();
    out.bytes += position_.size() * (sizeof(index) + 2 * sizeof(V));
    return out;
  }

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override {
    const index* position = position_.data();
    const typename scratch<ordered_vectors>::lease ordered(scratch_);
    V* ordered_x = ordered->x.data();
    for_each_row([&](index i) { ordered_x[position[i]] = x[i]; });
    inner_->multiply(alpha, ordered->x, V{0}, ordered->y);
    const V* ordered_y = ordered->y.data();
    const scale_and_add<V> put{V{1}, beta};
    for_each_row([&](index i) { put(ordered_y[position[i]], y[i]); });
  }
  template <class Body> void for_each_row(const Body& body) const {
    in_team(this->rows() >= worth_threads ? 0 : 1, [&](const team_thread& me) {
      const chunk_range mine = me.equal_range(this->rows());
      for (auto i = static_cast<index>(mine.begin); i < mine.end; ++i) body(i);
    });
  }

  std::unique_ptr<prepared_matrix<V>> inner_;
  // The new number of each old row. Both loops follow the old order, so that one array is enough and the
  // caller's x and y are accessed in sequence.
  array<index> position_;
  struct ordered_vectors {
    array<V> x, y;  // in the new order
  };
  scratch<ordered_vectors> scratch_;
};

}  // namespace

array<index> invert_order(std::span<const index> order) {
  const auto n = static_cast<index>(order.size());
  array<index> position(order.size(), -1);
  for (index i = 0; i < n; ++i) {
    const index old = order[i];
    if (old < 0 || old >= n)
      throw shape_error(fmt::format("order[{}] is {}, outside 0 to {}", i, old, n - 1));
    if (position[old] >= 0)
      throw shape_error(fmt::format("order[{}] and order[{}] are both {}", position[old], i, old));
    position[old] = i;
  }
  return position;
}

template <class V> csr<V> permute_symmetric(csr_view<V> a, std::span<const index> order) {
  if (a.rows != a.cols || order.size() != static_cast<std::size_t>(a.rows))
    throw shape_error(
        fmt::format("an order of {} rows does not fit a matrix of {} x {}", order.size(), a.rows, a.cols));
  const array<index> position = invert_order(order);
  csr<V> out{a.rows, a.cols, begin_rows(a, order), array<index>(a.col.size()), array<V>(a.val.size())};
  parallel_ranges(a.rows, grain, 0, [&](std::int64_t first, std::int64_t last) {
    row_sorter<V> sorter;
    for (std::int64_t i = first; i < last; ++i) {
      prefetch_ahead(a, order, position, i);
      const offset from = a.row_begin[order[i]], to = out.row_begin[i];
      sorter.copy(a.col.data() + from, a.val.data() + from, out.row_begin[i + 1] - to, position.data(),
                  out.col.data() + to, out.val.data() + to);
    }
  });
  return out;
}

template <class V>
std::unique_ptr<prepared_matrix<V>> make_reordered(std::unique_ptr<prepared_matrix<V>> inner,
                                                   std::span<const index> order) {
  if (inner->rows() != inner->cols() || order.size() != static_cast<std::size_t>(inner->rows()))
    throw shape_error(fmt::format("an order of {} rows does not fit a matrix of {} x {}", order.size(),
                                  inner->rows(), inner->cols()));
  if (!inner->where()->is_host())
    throw device_error("a reordered matrix runs on the host, and this one is on " +
                       inner->where()->description());
  return std::make_unique<reordered<V>>(std::move(inner), invert_order(order));
}

#define NONZERO_INSTANTIATE(V)                                                                     \
  template csr<V> permute_symmetric(csr_view<V>, std::span<const index>);                          \
  template std::unique_ptr<prepared_matrix<V>> make_reordered(std::unique_ptr<prepared_matrix<V>>, \
                                                              std::span<const index>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
