#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <nonzero/gpu/scratch.cuh>
#include <nonzero/gpu/values.cuh>
#include <nonzero/gpu/warp.cuh>

// The work of csr_merge as one list: the entries in their order, and after those of each row an item for its
// end. Entry k of row i is item i + k; the end of row i is item i + row_begin[i + 1]. The list is divided
// into tiles of about equal length, one per block. Rows as long as the matrix are split, short ones are not,
// and empty ones count as work too. The tiles depend on the matrix alone.
namespace nz::gpu {

// Odd, so that threads 7 places apart in shared memory use different banks.
constexpr int items_per_thread = 7;
constexpr int most_items = items_per_thread * threads_per_block;  // of a tile
/// The longest row that is not split: a tile that would begin within such a row begins after it.
constexpr int longest_whole = 512;
constexpr int items_per_tile = most_items - longest_whole;

/// Where giant rows are much of the matrix, consecutive blocks take tiles from this many start positions in
/// the list: tiles of a giant row, which read x in order, then run at the same time as those that gather it.
constexpr int listed_at_once = 128;

/// How many tiles a list of `items` items has.
constexpr offset tiles_for(offset items) { return (items + items_per_tile - 1) / items_per_tile; }

/// What csr_merge has besides CSR. Tile t has the row ends [row[t], row[t + 1]) and the entries [entry[t],
/// entry[t + 1]).
template <class V, class Offset> struct merge_tiles {
  const index* row;
  const Offset* entry;
  // In the scratch set. `head`: of the row that began in an earlier tile and ends in this one, the sum of the
  // entries here. `tail`: the sum of the entries after the last row end.
  V *head, *tail;
  unsigned* done;  // by the tile that a split row begins in: how many blocks have written their sums of it
  std::int64_t tiles;
  std::int64_t starts;  // positions in the list where blocks begin: 1, or listed_at_once
  bool has_split_rows;
};

/// A thread per tile, and one for the end of the last, finds where it begins; 1 in `is_split` where that is
/// within a row.
template <class A, class Offset>
__global__ void find_tiles_kernel(csr_view<A, Offset> a, offset items, index* __restrict__ tile_row,
                                  Offset* __restrict__ tile_entry, std::int32_t* __restrict__ is_split) {
  const std::int64_t tile = thread_in_grid();
  if (tile > tiles_for(items)) return;
  const offset first = tile * items_per_tile < items ? tile * items_per_tile : items;
  const index row = partition_point(index{0}, a.rows, [&](index i) { return offset{a.end(i)} + i < first; });
  const bool is_within = row < a.rows && offset{a.begin(row)} + row < first;
  const bool is_whole = is_within && a.end(row) - a.begin(row) <= longest_whole;
  tile_row[tile] = is_whole ? row + 1 : row;
  tile_entry[tile] = is_whole ? a.end(row) : static_cast<Offset>(first - row);
  is_split[tile] = is_within && !is_whole ? 1 : 0;
}

/// CSR with its tiles.
template <class A, class V, class Offset> struct csr_in_tiles : csr_or_one_value<A, Offset> {
  // As in merge_tiles.
  vector<index> tile_row;
  vector<Offset> tile_entry;
  scratch_array<V> head, tail;
  scratch_array<unsigned> done;
  offset splits = 0;  // how many tiles begin within a row

  template <class Queue>
  csr_in_tiles(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options)
      : csr_or_one_value<A, Offset>(queue, a, options),
        tile_row(options.on, static_cast<std::size_t>(tile_count() + 1)),
        tile_entry(options.on, static_cast<std::size_t>(tile_count() + 1)) {
    const offset edges = tile_count() + 1;
    auto is_split = queue.template temporary<std::int32_t>(static_cast<std::size_t>(edges + 1));
    launch_threads(queue, "find_tiles", edges, find_tiles_kernel<A, Offset>, this->view(), items(),
                   tile_row.data(), tile_entry.data(), is_split.data());
    queue.sum(is_split.data(), is_split.data() + edges, edges);
    splits = queue.read(is_split.data() + edges);
  }
  void reserve(scratch_layout& layout) {
    head = layout.add<V>(tile_count());
    tail = layout.add<V>(tile_count());
    done = layout.add<unsigned>(tile_count() + 1);
  }
  offset items() const { return this->rows + this->nnz(); }
  offset tile_count() const { return tiles_for(items()); }
  /// Where many blocks would wait for each other's sums, a second launch is faster.
  bool finishes_split_rows() const {
    constexpr offset most_tiles = 4096, tiles_per_split = 4;
    return splits > 0 && splits * tiles_per_split <= tile_count() && tile_count() <= most_tiles;
  }
  std::int64_t starts() const {
    constexpr offset fewest_tiles = 4096, tiles_per_split = 16;
    return splits * tiles_per_split >= tile_count() && tile_count() >= fewest_tiles ? listed_at_once : 1;
  }
  std::int64_t blocks() const { return (tile_count() + starts() - 1) / starts() * starts(); }
  merge_tiles<V, Offset> tiles(std::byte* set) const {
    return {tile_row.data(), tile_entry.data(), head.in(set), tail.in(set),
            done.in(set),    tile_count(),      starts(),     splits > 0};
  }
  footprint storage() const {
    return {shared_csr<A, Offset>::storage().bytes + bytes_of(tile_row, tile_entry), 0};
  }
};

/// This block's tile.
template <class Offset> struct merge_tile {
  std::int64_t number;
  index first_row;
  int rows;  // that end in it
  Offset first_entry;
  int entries;

  /// Where the starts do not divide the tiles evenly, the last blocks have an empty one.
  template <class V>
  __device__ explicit merge_tile(const merge_tiles<V, Offset>& all)
      : number(blockIdx.x % all.starts * (gridDim.x / all.starts) + blockIdx.x / all.starts) {
    const std::int64_t begin = number < all.tiles ? number : all.tiles;
    const std::int64_t end = number < all.tiles ? number + 1 : all.tiles;
    first_row = all.row[begin];
    rows = all.row[end] - first_row;
    first_entry = all.entry[begin];
    entries = static_cast<int>(all.entry[end] - first_entry);
  }

  /// The place in the tile of the last entry of the r-th row that ends in it; -1 where the row has none here.
  __device__ int last_entry(const Offset* row_begin, int r) const {
    const Offset begin = row_begin[first_row + r], end = row_begin[first_row + r + 1];
    return end > begin && end > first_entry ? static_cast<int>(end - first_entry) - 1 : -1;
  }
  /// Whether a row that ends here began in an earlier tile.
  __device__ bool ends_split_row(const Offset* row_begin) const {
    return rows > 0 && row_begin[first_row] < first_entry;
  }
  /// Whether the row after those began here, or before, and continues in the next tile.
  __device__ bool leaves_split_row(const Offset* row_begin, index rows_of_matrix) const {
    const index next = first_row + rows;
    return next < rows_of_matrix && row_begin[next] < first_entry + entries;
  }
};

/// A split row, and the tiles of its first and last items: within such a row tiles begin at multiples of
/// items_per_tile.
struct row_in_tiles {
  index row;
  offset first_tile, last_tile;

  template <class Offset>
  __device__ row_in_tiles(index i, const Offset* row_begin)
      : row(i),
        first_tile((offset{row_begin[i]} + i) / items_per_tile),
        last_tile((offset{row_begin[i + 1]} + i) / items_per_tile) {}
};

}  // namespace nz::gpu
