#include <algorithm>
#include <atomic>

#include <nonzero/cpu/back_end_internal.hpp>
#include <nonzero/cpu/chunk_ranges_internal.hpp>
#include <nonzero/cpu/chunked_matrix_internal.hpp>
#include <nonzero/cpu/kernels.hpp>

namespace nz {

bool is_for_one_thread(index rows, offset entries) {
  return entries + cpu::chunk_size{}.row_cost * rows < cpu::least_parallel_cost;
}

}  // namespace nz

namespace nz::cpu {
namespace {

/// Whether a step is y = A x and its product with a vector, and nothing else.
template <class V> bool is_product_alone(const fused_step<V>& step) {
  return step.alpha == V{1} && step.b == nullptr && step.c == nullptr && step.shift == V{0} &&
         step.shift_from == nullptr && step.scaled == nullptr && step.count == nullptr && step.sums() == 1 &&
         step.measure[0].what == measured::product && step.measure[0].with != nullptr;
}

}  // namespace

namespace {

bool has_large(const chunking& chunks) {
  for (index c = 0; c < chunks.count(); ++c)
    if (chunks.first_row[c + 1] - chunks.first_row[c] > most_chunk_rows) return true;
  return false;
}

}  // namespace

chunking split_into_chunks(std::span<const offset> row_begin, const chunk_size& size) {
  const index most_rows = size.most_rows, block_rows = size.block_rows;
  const offset most_cost = size.cost, per_row = size.row_cost;
  const auto rows = static_cast<index>(row_begin.size()) - 1;
  const auto cost = [&](index row) { return row_begin[row] + per_row * row; };
  const auto length = [&](index row) { return row_begin[row + 1] - row_begin[row]; };
  // The last row that a chunk from `row` on, wanted to end at `end`, may end at.
  const auto end_of_blocks = [&](index row, index end) {
    if (end == rows || end - end % block_rows > row) return end == rows ? end : end - end % block_rows;
    const index block_end = std::min(rows, end + (block_rows - end % block_rows) % block_rows);
    for (index i = end; i < block_end; ++i)
      if (length(i) > 2 * most_cost) return end;
    return block_end;
  };
  chunking out;
  const auto close_chunk = [&](index end, bool is_long) {
    if (end == out.first_row.back()) return;
    out.cost_before.push_back(out.cost_before.back() +
                              (is_long ? 0 : cost(end) - cost(out.first_row.back())));
    out.first_row.push_back(end);
  };
  for (index row = 0; row < rows;) {
    // The first row at which the chunk from `row` on has its cost.
    const offset wanted = cost(row) + most_cost;
    index low = row + 1, high = rows - row < most_rows ? rows : row + most_rows;
    while (low < high) {
      const index middle = low + (high - low) / 2;
      if (cost(middle) < wanted)
        low = middle + 1;
      else
        high = middle;
    }
    const bool ends_long = length(low - 1) > 2 * most_cost;
    if (!ends_long) low = end_of_blocks(row, low);
    close_chunk(ends_long ? low - 1 : low, false);
    if (ends_long) {
      for (offset begin = row_begin[low - 1]; begin < row_begin[low]; begin += segment_length)
        out.segments.push_back({low - 1, begin, std::min(begin + segment_length, row_begin[low])});
      close_chunk(low, true);
    }
    row = low;
  }
  return out;
}

template <class V>
chunked_matrix<V>::chunked_matrix(index rows, index cols, chunking chunks)
    : prepared_matrix<V>(rows, cols, cpu_device()),
      chunks_(std::move(chunks)),
      has_large_chunks_(has_large(chunks_)),
      row_sums_([this] {
        return sums_of_rows{array<V>(chunks_.segments.size()), array<V>(scratch_bytes() / sizeof(V))};
      }),
      step_sums_([this] { return array<step_sums>(static_cast<std::size_t>(chunks_.count())); }) {}

template <class V> index chunked_matrix<V>::chunk_of(index row) const {
  return static_cast<index>(std::upper_bound(chunks_.first_row.begin(), chunks_.first_row.end(), row) -
                            chunks_.first_row.begin() - 1);
}

/// then(chunk, first row, its sums) in parallel, while the sums are in L1. They are in y, unless it is null.
/// The segments of all long rows come first.
template <class V>
template <class Then>
void chunked_matrix<V>::run_chunks(const V* x, V* y, Then then) const {
  if (chunks_.segments.empty() && (y != nullptr || !has_large_chunks_))
    return run_chunks(x, y, nullptr, nullptr, then);
  const typename scratch<sums_of_rows>::lease sums(row_sums_);
  run_chunks(x, y, sums->of_segments.data(), has_large_chunks_ ? sums->of_chunks.data() : nullptr, then);
}

template <class V>
template <class Then>
void chunked_matrix<V>::run_chunks(const V* x, V* y, V* segment_sums, V* large_sums, Then then) const {
  const auto segments = static_cast<offset>(chunks_.segments.size());
  const auto find_segments = [&](const chunk_range& of) {
    for (offset p = of.begin; p < of.end; ++p) segment_sums[p] = find_segment_sum(chunks_.segments[p], x);
  };
  const auto run = [&](index chunk) {
    const index first = chunks_.first_row[chunk], rows = chunks_.first_row[chunk + 1] - first;
    alignas(64) V few[most_chunk_rows];
    V* const sums = y != nullptr ? y + first : large_sums == nullptr ? few : large_sums + first;
    if (chunks_.is_long_row(chunk))
      sums[0] = sum_of_segments<V>(chunks_, {segment_sums, chunks_.segments.size()}, first);
    else
      find_sums(chunk, x, sums);
    then(chunk, first, std::span(sums, static_cast<std::size_t>(rows)));
  };
  if (chunks_.cost_before.back() + segments * segment_length < least_parallel_cost) {
    find_segments({0, segments});
    for (index chunk = 0; chunk < chunks_.count(); ++chunk) run(chunk);
    return;
  }
  std::atomic<index> next{0};
  in_team(0, [&](const team_thread& me) {
    if (segments > 0) {
      find_segments(me.equal_range(segments));
      me.wait_for_others();
    }
    if (has_large_chunks_) {
      for (index chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks_.count();) run(chunk);
    } else {
      const chunk_range mine = equal_cost_range(me, chunks_.cost_before);
      for (auto chunk = static_cast<index>(mine.begin); chunk < mine.end; ++chunk) run(chunk);
    }
  });
}

template <class V> V sum_of_segments(const chunking& chunks, std::span<const V> segment_sums, index row) {
  const auto first = std::lower_bound(chunks.segments.begin(), chunks.segments.end(), row,
                                      [](const chunking::segment& p, index r) { return p.row < r; });
  V sum = 0;
  for (auto p = first; p != chunks.segments.end() && p->row == row; ++p)
    sum += segment_sums[static_cast<std::size_t>(p - chunks.segments.begin())];
  return sum;
}

template <class V> void chunked_matrix<V>::run(V alpha, const V* x, V beta, V* y, stream) const {
  if (alpha == V{1} && beta == V{0}) return run_chunks(x, y, [](index, index, std::span<V>) {});
  const scale_and_add<V> epilogue{alpha, beta};
  run_chunks(x, nullptr, [&](index, index first, std::span<V> sums) {
    for (const V sum : sums) epilogue(sum, y[first++]);
  });
}

template <class V>
step_sums chunked_matrix<V>::run_fused(const V* x, const chunk_epilogue<V>& epilogue) const {
  const scratch<array<step_sums>>::lease of_chunks(step_sums_);
  run_chunks(x, nullptr, [&](index chunk, index first, std::span<V> sums) {
    (*of_chunks)[chunk] = epilogue(first, sums);
  });
  return add_up(*of_chunks);
}

/// The step of conjugate gradients needs A x itself: it is computed in place, without a copy.
template <class V>
void chunked_matrix<V>::run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const {
  if (!is_product_alone(step)) return prepared_matrix<V>::run_step(x, step, y, sums, in);
  const V* const with = step.measure[0].with;
  const auto dot = find_vector_functions<V>().dot;
  const scratch<array<step_sums>>::lease of_chunks(step_sums_);
  run_chunks(x, y, [&](index chunk, index first, std::span<V> products) {
    (*of_chunks)[chunk] = {dot(products.size(), products.data(), with + first), 0.0};
  });
  sums[0] = add_up(*of_chunks).first;
}

template <class V>
permuted_matrix<V>::permuted_matrix(std::unique_ptr<prepared_matrix<V>> places, array<index> row)
    : prepared_matrix<V>(places->rows(), places->cols(), places->where()),
      places_(std::move(places)),
      row_(std::move(row)) {}

template <class V> footprint permuted_matrix<V>::storage() const {
  footprint size = places_->storage();
  size.bytes += row_.size() * sizeof(index);
  return size;
}

template <class V> void permuted_matrix<V>::run(V alpha, const V* x, V beta, V* y, stream) const {
  const scale_and_add<V> epilogue{alpha, beta};
  places_->apply({x, static_cast<std::size_t>(this->cols())}, [&](index first, std::span<V> sums) {
    const index* row = row_.data() + first;
    for (std::size_t i = 0; i < sums.size(); ++i) epilogue(sums[i], y[row[i]]);
    return 0.0;
  });
}

#define NONZERO_INSTANTIATE(V)                                            \
  template V sum_of_segments(const chunking&, std::span<const V>, index); \
  template class chunked_matrix<V>;                                       \
  template class permuted_matrix<V>;
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::cpu
