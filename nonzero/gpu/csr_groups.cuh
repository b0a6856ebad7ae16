#pragma once

#include <cstdint>
#include <memory>

#include <nonzero/gpu/placed.cuh>
#include <nonzero/gpu/read_once.cuh>
#include <nonzero/gpu/steps.cuh>
#include <nonzero/gpu/threads.cuh>

// Rows that are too long for a group of lanes are listed once, in parts of a length that a warp is soon done
// with. How they are cut depends on the matrix alone.
namespace nz::gpu {

constexpr int lanes_of_short = 8;  // that a short row has
constexpr offset longest_short = 64, longest_part = 512;

/// How many parts a row is cut into, the fewest; 0: it is short.
__device__ inline offset parts_of(offset entries) {
  return entries <= longest_short ? 0 : (entries + longest_part - 1) / longest_part;
}
/// Where part p of n begins: they are as equal as they can be.
__device__ inline offset begin_of_part(offset entries, offset n, offset p) {
  const offset longer = entries % n;
  return p * (entries / n) + (p < longer ? p : longer);
}

/// For each row its parts, and 2^32 besides if it has several; and a 0 behind the last. Sums of these count
/// parts and cut rows at once.
template <class Offset>
__global__ void count_parts_kernel(index rows, const Offset* __restrict__ row_begin,
                                   std::int64_t* __restrict__ count) {
  const std::int64_t i = thread_in_grid();
  if (i > rows) return;
  const offset n = i < rows ? parts_of(row_begin[i + 1] - row_begin[i]) : 0;
  count[i] = n > 1 ? (std::int64_t{1} << 32) + n : n;
}

/// The parts of long rows, in their order.
template <class Offset> struct part_list {
  index* row;     // the row it is all of, or -1
  Offset* begin;  // its entries
  Offset* end;
  index* cut_row;  // the rows of several parts, and the first part of each
  index* first_part;
};

/// A thread per part finds its row by halving in `before`, the sums of what count_parts_kernel found.
template <class Offset>
__global__ void list_parts_kernel(index rows, std::int64_t parts, const Offset* __restrict__ row_begin,
                                  const std::int64_t* __restrict__ before, part_list<Offset> list) {
  constexpr std::int64_t parts_mask = 0xffffffff;
  const std::int64_t part = thread_in_grid();
  if (part >= parts) return;
  index low = 0, high = rows - 1;  // the last row with no more than `part` before it
  while (low < high) {
    const index middle = low + (high - low + 1) / 2;
    if ((before[middle] & parts_mask) <= part)
      low = middle;
    else
      high = middle - 1;
  }
  const offset begin = row_begin[low], entries = row_begin[low + 1] - begin, n = parts_of(entries);
  const offset p = part - (before[low] & parts_mask);
  list.row[part] = n == 1 ? low : -1;
  list.begin[part] = static_cast<Offset>(begin + begin_of_part(entries, n, p));
  list.end[part] = static_cast<Offset>(begin + begin_of_part(entries, n, p + 1));
  if (n == 1 || p != 0) return;
  list.cut_row[before[low] >> 32] = low;
  list.first_part[before[low] >> 32] = static_cast<index>(part);
}

/// CSR with the list of its long rows.
template <class A, class Offset, class V = A> struct placed_csr_in_groups : placed_csr<A, Offset> {
  vector<index> part_row;  // part_list, in the device's memory
  vector<Offset> part_begin, part_end;
  vector<index> cut_row, first_part;
  mutable vector<V> part_sum;  // of the parts of cut rows; written and read by each multiply

  template <class Queue>
  placed_csr_in_groups(Queue& queue, const std::shared_ptr<const device_csr<A>>& a,
                       const prepare_options& options)
      : placed_csr<A, Offset>(a) {
    const std::int64_t counts = std::int64_t{this->rows} + 1;
    auto before = queue.template temporary<std::int64_t>(static_cast<std::size_t>(counts));
    queue.launch("count_parts", blocks_for(counts), threads_per_block, count_parts_kernel<Offset>, this->rows,
                 this->row_begin.data(), before.data());
    queue.exclusive_sum(before.data(), before.data(), counts);
    const std::int64_t total = queue.read(before.data() + this->rows);
    const auto parts = static_cast<std::size_t>(total & 0xffffffff),
               cut = static_cast<std::size_t>(total >> 32);
    part_row = vector<index>(options.on, parts);
    part_begin = vector<Offset>(options.on, parts);
    part_end = vector<Offset>(options.on, parts);
    cut_row = vector<index>(options.on, cut);
    first_part = vector<index>(options.on, cut);
    part_sum = vector<V>(options.on, cut > 0 ? parts : 0);
    queue.launch("list_parts", blocks_for(static_cast<std::int64_t>(parts)), threads_per_block,
                 list_parts_kernel<Offset>, this->rows, static_cast<std::int64_t>(parts),
                 this->row_begin.data(), before.data(), list());
  }
  part_list<Offset> list() {
    return {part_row.data(), part_begin.data(), part_end.data(), cut_row.data(), first_part.data()};
  }
  footprint storage() const {
    return {placed_csr<A, Offset>::storage().bytes + part_row.bytes() + part_begin.bytes() +
                part_end.bytes() + cut_row.bytes() + first_part.bytes() + part_sum.bytes(),
            0};
  }
};

/// The sum of the products of entries [begin, end), in the first of a group of lanes.
template <int Lanes, int Ahead, class V, class A, class Offset>
__device__ __forceinline__ V sum_of_entries(Offset begin, Offset end, const index* __restrict__ col,
                                            const A* __restrict__ val, const V* __restrict__ x) {
  V sum = 0;
  for (Offset k = begin + static_cast<int>(threadIdx.x % Lanes); k < end; k += Lanes * Ahead) {
    index j[Ahead];
    A v[Ahead];
    V v_x[Ahead];
    for (int q = 0; q < Ahead; ++q) {
      const bool is_there = q * Lanes < end - k;
      j[q] = is_there ? read_once(col + k + q * Lanes) : 0;
      v[q] = is_there ? read_once(val + k + q * Lanes) : A{0};
    }
    for (int q = 0; q < Ahead; ++q) v_x[q] = q * Lanes < end - k ? x[j[q]] : V{0};
    for (int q = 0; q < Ahead; ++q) sum += static_cast<V>(v[q]) * v_x[q];
  }
  return sum_of_group<Lanes>(sum);
}

// Eight lanes share each short row, as in csr_vector; a long one has a warp, or several: one for each part of
// 512. Blocks for those come first, as they take the longest. Rows of several parts are finished by a second
// launch.
// Good: long rows, whatever their lengths, and some short ones among them: linear programs, bipartite graphs.
// Bad: mostly short rows (idle lanes; csr_merge has a thread for a few entries of any row).
// Traffic: 12 bytes per nonzero in double, plus the gather of x, and 12 to 28 bytes for each part.
// Source: Bell & Garland 2008, §4.2, for a warp per row; the list of parts is ours.
template <class A, class V, class Offset, class Epilogue>
__global__ void __launch_bounds__(threads_per_block)
    csr_groups_kernel(index rows, std::int64_t parts, const index* __restrict__ part_row,
                      const Offset* __restrict__ part_begin, const Offset* __restrict__ part_end,
                      const Offset* __restrict__ row_begin, const index* __restrict__ col,
                      const A* __restrict__ val, const V* __restrict__ x, V* __restrict__ y,
                      V* __restrict__ part_sum, Epilogue finish) {
  constexpr int warps = threads_per_block / 32;
  let_next_launch_begin();
  row_finisher<Epilogue> finish_row(finish, y);
  const std::int64_t part_blocks = (parts + warps - 1) / warps;
  if (blockIdx.x < part_blocks) {
    const std::int64_t part = thread_in_grid() / 32;
    if (part < parts) {  // the whole warp
      const index row = part_row[part];
      const V sum = sum_of_entries<32, 8>(part_begin[part], part_end[part], col, val, x);
      if (threadIdx.x % 32 == 0) {
        if (row >= 0)
          finish_row(sum, row);
        else
          part_sum[part] = sum;
      }
    }
  } else {
    const std::int64_t row = (thread_in_grid() - part_blocks * threads_per_block) / lanes_of_short;
    const Offset begin = row < rows ? row_begin[row] : 0, end = row < rows ? row_begin[row + 1] : 0;
    if (row < rows && end - begin <= longest_short) {  // the whole group
      const V sum = sum_of_entries<lanes_of_short, 2>(begin, end, col, val, x);
      if (threadIdx.x % lanes_of_short == 0) finish_row(sum, row);
    }
  }
  finish_row.leave_sums();
}

/// A warp per cut row adds up its parts, always in the same order.
template <class V, class Offset, class Epilogue>
__global__ void csr_groups_finish_kernel(std::int64_t cut_rows, const index* __restrict__ cut_row,
                                         const index* __restrict__ first_part,
                                         const Offset* __restrict__ row_begin, const V* part_sum,
                                         V* __restrict__ y, Epilogue finish) {
  const std::int64_t cut = thread_in_grid() / 32;
  row_finisher<Epilogue> finish_row(finish, y);
  const index row = cut < cut_rows ? cut_row[cut] : -1;
  const offset parts = row < 0 ? 0 : parts_of(row_begin[row + 1] - row_begin[row]);
  wait_for_launch_before();
  if (row >= 0) {  // the whole warp
    V sum = 0;
    for (offset p = threadIdx.x % 32; p < parts; p += 32) sum += part_sum[first_part[cut] + p];
    sum = sum_of_group<32>(sum);
    if (threadIdx.x % 32 == 0) finish_row(sum, row);
  }
  finish_row.leave_sums();
}

struct csr_groups_launch {
  template <class A, class Offset, class V = A> using placed = placed_csr_in_groups<A, Offset, V>;

  template <class Queue, class A, class Offset, class V>
  static std::int64_t blocks(const Queue&, const placed_csr_in_groups<A, Offset, V>& a) {
    return blocks_of_rows(a) + blocks_of_cut_rows(a);
  }

  template <class Queue, class A, class V, class Offset, class Epilogue>
  static void multiply(Queue& queue, const placed_csr_in_groups<A, Offset, V>& a, const V* x, V* y,
                       Epilogue finish) {
    queue.launch("csr_groups", blocks_of_rows(a), threads_per_block,
                 csr_groups_kernel<A, V, Offset, Epilogue>, a.rows, count(a.part_row), a.part_row.data(),
                 a.part_begin.data(), a.part_end.data(), a.row_begin.data(), a.col.data(), a.val.data(), x, y,
                 a.part_sum.data(), finish);
    queue.launch_after("csr_groups_finish", blocks_of_cut_rows(a), threads_per_block,
                       csr_groups_finish_kernel<V, Offset, Epilogue>, count(a.cut_row), a.cut_row.data(),
                       a.first_part.data(), a.row_begin.data(), a.part_sum.data(), y,
                       after_blocks(finish, blocks_of_rows(a)));
  }

 private:
  template <class T> static std::int64_t count(const vector<T>& list) {
    return static_cast<std::int64_t>(list.size());
  }
  template <class Placed> static std::int64_t blocks_of_rows(const Placed& a) {
    return blocks_for(count(a.part_row) * 32) + blocks_for(std::int64_t{lanes_of_short} * a.rows);
  }
  template <class Placed> static std::int64_t blocks_of_cut_rows(const Placed& a) {
    return blocks_for(count(a.cut_row) * 32);
  }
};

}  // namespace nz::gpu
