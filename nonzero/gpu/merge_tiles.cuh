#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/entry_values.cuh>
#include <nonzero/gpu/threads.cuh>

// The work as one list: the entries in their order, and after those of each row an item for its end. Entry k
// of row i is item i + k; the end of row i is item i + row_begin[i + 1]. The list is cut into shares of about
// equal length, a block each. Rows as long as the matrix are cut, short ones are not, and empty ones count as
// work too. The cut depends on the matrix alone.
namespace nz::gpu {

// Odd, so that threads 7 places apart in shared memory use different banks.
constexpr int items_per_thread = 7;
constexpr int most_items = items_per_thread * threads_per_block;  // of a share
/// A row of so many entries is whole: where a share would begin within it, it begins after it.
constexpr int longest_whole = 512;
constexpr int items_per_tile = most_items - longest_whole;

/// Where giant rows are much of the matrix, blocks that follow each other take shares from so many places of
/// the list: those of a giant row, which meet x in order, run beside those that gather it.
constexpr int listed_at_once = 128;

/// How many shares there are in a list of so many items.
constexpr offset shares_for(offset items) { return (items + items_per_tile - 1) / items_per_tile; }

/// What csr_merge has besides CSR. Share s has the row ends [row[s], row[s + 1]) and the entries [entry[s],
/// entry[s + 1]).
template <class V, class Offset> struct merge_tiles {
  const index* row;
  const Offset* entry;
  // Written and read by each multiply. Of the row that began in an earlier share and ends in this one, the
  // sum of the entries here; and the sum of those that follow the last row end.
  V *head, *tail;
  unsigned* arrived;  // of a cut row, by the share it begins in: how many blocks have left their parts of it
  std::int64_t shares;
  std::int64_t places;  // of the list that blocks begin at: 1, or listed_at_once
};

/// A thread per share, and one for the end of the last, finds by halving where it begins; 1 in `is_cut` where
/// that is within a row.
template <class Offset>
__global__ void find_shares_kernel(index rows, offset items, const Offset* __restrict__ row_begin,
                                   index* __restrict__ tile_row, Offset* __restrict__ tile_entry,
                                   unsigned* __restrict__ arrived, std::int32_t* __restrict__ is_cut) {
  const std::int64_t share = thread_in_grid();
  if (share > shares_for(items)) return;
  const offset first = share * items_per_tile < items ? share * items_per_tile : items;
  index low = 0, high = rows;
  while (low < high) {
    const index middle = low + (high - low) / 2;
    if (offset{row_begin[middle + 1]} + middle < first)
      low = middle + 1;
    else
      high = middle;
  }
  const bool is_within = low < rows && offset{row_begin[low]} + low < first;
  const bool is_whole = is_within && row_begin[low + 1] - row_begin[low] <= longest_whole;
  tile_row[share] = is_whole ? low + 1 : low;
  tile_entry[share] = is_whole ? row_begin[low + 1] : static_cast<Offset>(first - low);
  arrived[share] = 0;
  is_cut[share] = is_within && !is_whole ? 1 : 0;
}

/// CSR with its shares.
template <class A, class Offset, class V = A> struct device_merge_tiles : csr_or_pattern<A, Offset> {
  // As in merge_tiles.
  vector<index> tile_row;
  vector<Offset> tile_entry;
  mutable vector<V> head, tail;
  mutable vector<unsigned> arrived;
  offset cuts = 0;  // how many shares begin within a row

  template <class Queue>
  device_merge_tiles(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                     const prepare_options& options)
      : csr_or_pattern<A, Offset>(queue, a, options),
        tile_row(options.on, static_cast<std::size_t>(shares() + 1)),
        tile_entry(options.on, static_cast<std::size_t>(shares() + 1)),
        head(options.on, static_cast<std::size_t>(shares())),
        tail(options.on, static_cast<std::size_t>(shares())),
        arrived(options.on, static_cast<std::size_t>(shares() + 1)) {
    const offset edges = shares() + 1;
    auto is_cut = queue.template temporary<std::int32_t>(static_cast<std::size_t>(edges + 1));
    queue.launch("find_shares", blocks_for(edges), threads_per_block, find_shares_kernel<Offset>, this->rows,
                 items(), this->row_begin.data(), tile_row.data(), tile_entry.data(), arrived.data(),
                 is_cut.data());
    queue.sum(is_cut.data(), is_cut.data() + edges, edges);
    cuts = queue.read(is_cut.data() + edges);
  }
  offset items() const { return this->rows + this->nnz; }
  offset shares() const { return shares_for(items()); }
  /// Blocks that wait for each other's parts take longer than a second launch does, if they are many.
  bool finishes_cut_rows() const {
    constexpr offset most_shares = 4096, tiles_per_split = 4;
    return cuts > 0 && cuts * tiles_per_split <= shares() && shares() <= most_shares;
  }
  std::int64_t places() const {
    constexpr offset fewest_shares = 4096, tiles_per_split = 16;
    return cuts * tiles_per_split >= shares() && shares() >= fewest_shares ? listed_at_once : 1;
  }
  std::int64_t blocks() const { return (shares() + places() - 1) / places() * places(); }
  merge_tiles<V, Offset> list() const {
    return {tile_row.data(), tile_entry.data(), head.data(), tail.data(), arrived.data(), shares(), places()};
  }
  footprint storage() const {
    return {csr_on_device<A, Offset>::storage().bytes + tile_row.bytes() + tile_entry.bytes() + head.bytes() +
                tail.bytes() + arrived.bytes(),
            0};
  }
};

/// What of the list is this block's.
template <class Offset> struct merge_tile {
  std::int64_t number;
  index first_row;
  int rows;  // that end in it
  Offset first_entry;
  int entries;

  /// Behind the last share there are some that have nothing, where places do not come out even.
  template <class V>
  __device__ explicit merge_tile(const merge_tiles<V, Offset>& all)
      : number(blockIdx.x % all.places * (gridDim.x / all.places) + blockIdx.x / all.places) {
    const std::int64_t begin = number < all.shares ? number : all.shares;
    const std::int64_t end = number < all.shares ? number + 1 : all.shares;
    first_row = all.row[begin];
    rows = all.row[end] - first_row;
    first_entry = all.entry[begin];
    entries = static_cast<int>(all.entry[end] - first_entry);
  }

  /// The place in the share of the last entry of the r-th row that ends in it; -1 where the row has none
  /// here.
  __device__ int last_entry(const Offset* row_begin, int r) const {
    const Offset begin = row_begin[first_row + r], end = row_begin[first_row + r + 1];
    return end > begin && end > first_entry ? static_cast<int>(end - first_entry) - 1 : -1;
  }
  /// Whether a row that ends here began in an earlier share.
  __device__ bool ends_cut_row(const Offset* row_begin) const {
    return rows > 0 && row_begin[first_row] < first_entry;
  }
  /// Whether the row after those began here, or before, and goes on.
  __device__ bool leaves_cut_row(const Offset* row_begin, index rows_of_matrix) const {
    const index next = first_row + rows;
    return next < rows_of_matrix && row_begin[next] < first_entry + entries;
  }
};

/// A row that is cut, and the shares in which its first and last items are: no share begins elsewhere than
/// where a share of equal length would, within such a row.
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
