#pragma once

#include <memory>
#include <vector>

#include <nonzero/core/array.hpp>
#include <nonzero/core/scratch.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz::cpu {

/// The most rows in a chunk: their sums stay in L1 until the epilogue reads them.
constexpr index most_chunk_rows = 1024;
/// A chunk ends when its entries plus four times its rows reach this.
constexpr offset chunk_cost = offset{4} * most_chunk_rows;
/// A longer row is a chunk of its own, split into segments for several threads.
constexpr offset long_row_from = 2 * chunk_cost;
constexpr offset segment_length = chunk_cost;

/// How rows are divided among threads. Depends on the matrix alone, so that results are the same for any
/// number of threads.
struct chunking {
  struct segment {
    index row;
    offset begin, end;  // entries of that row
  };
  array<index> first_row{0};  // chunks+1 long; chunk c holds the rows [first_row[c], first_row[c+1])
  /// chunks+1 long; the cost of the chunks before, where long rows cost nothing.
  array<offset> cost_before{0};
  std::vector<segment> segments;  // of the long rows, in order

  index count() const { return static_cast<index>(first_row.size()) - 1; }
  /// A chunk with rows and no cost is one long row.
  bool is_long_row(index chunk) const { return cost_before[chunk] == cost_before[chunk + 1]; }
};

struct chunk_size {
  index most_rows = most_chunk_rows;
  offset cost = chunk_cost;
  offset row_cost = 4;  // of a row, in addition to its entries
  /// So many rows belong together: no chunk splits them, except where one of them is long.
  index block_rows = 1;
};

/// A chunk ends when it has `most_rows` rows or reaches `cost`. A row of more than twice that is a chunk of
/// its own. Takes time for the chunks, not for the rows.
chunking split_into_chunks(std::span<const offset> row_begin, const chunk_size& size = {});

/// The same with the segments of each row moved by `distance(row)`, to where a format stores its entries.
chunking with_segments_moved(chunking chunks, const auto& distance) {
  for (chunking::segment& segment : chunks.segments) {
    const offset by = distance(segment.row);
    segment.begin += by;
    segment.end += by;
  }
  return chunks;
}

/// Segments counted from the begin of their row, for formats that do not store a row in one place.
inline chunking with_segments_in_rows(chunking chunks, std::span<const offset> row_begin) {
  return with_segments_moved(std::move(chunks), [&](index row) { return -row_begin[row]; });
}

/// The sum of a long row, given those of all segments: added in order.
template <class V> V sum_of_segments(const chunking& chunks, std::span<const V> segment_sums, index row);

/// A matrix whose kernel computes the sums of one chunk of rows at a time. Each thread has consecutive chunks
/// of about the same cost, or takes the next chunk when chunks are large and few. Long rows come first, in
/// segments whose sums are added in order.
template <class V> class chunked_matrix : public prepared_matrix<V> {
 protected:
  chunked_matrix(index rows, index cols, chunking chunks);
  const chunking& chunks() const { return chunks_; }
  /// The chunk that a row is in.
  index chunk_of(index row) const;
  std::size_t scratch_bytes() const {
    return has_large_chunks_ ? static_cast<std::size_t>(this->rows()) * sizeof(V) : 0;
  }

 private:
  /// sums[i] = (A x)[first_row + i] for the rows of a chunk, which is no long row.
  virtual void find_sums(index chunk, const V* x, V* sums) const = 0;
  /// The sum over some entries of a long row.
  virtual V find_segment_sum(const chunking::segment& segment, const V* x) const = 0;

  void run(V alpha, const V* x, V beta, V* y, stream) const final;
  step_sums run_fused(const V* x, const chunk_epilogue<V>& epilogue) const final;
  void run_step(const V* x, const fused_step<V>& step, V* y, double* sums, stream in) const final;
  template <class Then> void run_chunks(const V* x, V* y, Then then) const;
  template <class Then> void run_chunks(const V* x, V* y, V* segment_sums, V* large_sums, Then then) const;

  chunking chunks_;
  bool has_large_chunks_ = false;  // of more than most_chunk_rows
  struct sums_of_rows {
    array<V> of_segments;  // of long rows
    array<V> of_chunks;    // rows long where there are large chunks, else empty
  };
  scratch<sums_of_rows> row_sums_;
  scratch<array<step_sums>> step_sums_;  // of a fused step: each chunk's
};

/// A matrix whose rows are stored in another order: place p has row row[p]. Chunks of places are not chunks
/// of rows, so a fused step computes all of A x first.
template <class V> class permuted_matrix final : public prepared_matrix<V> {
 public:
  /// `places` multiplies the rows in the order in which they are stored.
  permuted_matrix(std::unique_ptr<prepared_matrix<V>> places, array<index> row);
  footprint storage() const override;

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override;

  std::unique_ptr<prepared_matrix<V>> places_;
  array<index> row_;
};

}  // namespace nz::cpu
