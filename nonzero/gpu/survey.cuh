#pragma once

#include <algorithm>
#include <cstdint>

#include <nonzero/formats/fingerprint.hpp>
#include <nonzero/gpu/shared.cuh>
#include <nonzero/gpu/slices_internal.hpp>
#include <nonzero/gpu/values.cuh>
#include <nonzero/gpu/warp.cuh>
#include <nonzero/kernel/prediction.hpp>

// The device_surveys of kernel/prediction.hpp, for one Queue. Each block or warp writes a record, and the
// host adds up the records, a few kilobytes.
namespace nz::gpu {

struct rows_record {
  offset longest = 0, in_long_rows = 0;
};

struct slice_record {
  offset entries = 0, places = 0;
  index compared = 0;  // rows that have a row before them in the slice, unless both are empty
  index moved = 0, repeated = 0, twins = 0;
  index spread = 0;              // the most columns between the k-th entries of two rows
  index inexact = 0, other = 0;  // rows with a value that is no float, or not the first one
};

// Threads take rows in turn; each block writes what it found.
// Good: always, it reads 4 bytes per row.
// Traffic: 4 bytes per row.
// Source: ours.
template <class Offset>
__global__ void survey_rows_kernel(index rows, const Offset* __restrict__ row_begin,
                                   rows_record* __restrict__ records) {
  __shared__ shared_array<rows_record, threads_per_block / 32> found_by_warp;
  const auto larger = [](offset a, offset b) { return a > b ? a : b; };
  rows_record found;
  for (std::int64_t row = thread_in_grid(); row < rows; row += std::int64_t{gridDim.x} * threads_per_block) {
    const offset length = row_begin[row + 1] - row_begin[row];
    found.longest = larger(found.longest, length);
    found.in_long_rows += length > row_survey::long_row ? length : 0;
  }
  found.longest = warp_maximum(found.longest);
  found.in_long_rows = warp_sum(found.in_long_rows);
  if (threadIdx.x % 32 == 0) found_by_warp[threadIdx.x / 32] = found;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < threads_per_block / 32; ++w) {
    const rows_record other = found_by_warp[w];
    found.longest = larger(found.longest, other.longest);
    found.in_long_rows += other.in_long_rows;
  }
  records[blockIdx.x] = found;
}

/// The largest distance between the columns of two lanes in the same step.
template <class V, class Offset>
__device__ index spread_of_slice(const csr_view<V, Offset>& a, Offset begin, int length) {
  const auto larger = [](index one, index other) { return one > other ? one : other; };
  const int steps = warp_maximum(length);
  index spread = 0;
  for (int k = 0; k < steps; ++k) {
    const index mine = k < length ? a.column(begin + k) : 0;
    const index low = warp_minimum(k < length ? mine : index{0x7fffffff});
    spread = larger(spread, warp_maximum(k < length ? mine : index{0}) - low);
  }
  return spread;
}

// A warp per sampled slice, a lane per row, which is compared with the row before.
// Good: always: at most 1,024 slices, however large the matrix.
// Bad: matrices that differ from place to place.
// Traffic: up to 1,024 slices of 32 rows, of which 32 entries at the most.
// Source: ours.
template <class V, class Offset>
__global__ void survey_slices_kernel(csr_view<V, Offset> a, std::int64_t slices, int samples,
                                     slice_record* __restrict__ records) {
  constexpr offset most_entries = 32;
  const std::int64_t sample = thread_in_grid() / 32;
  if (sample >= samples) return;  // the whole warp
  const int lane = threadIdx.x % 32;
  const std::int64_t first = sample * slices / samples * slice_height, row = first + lane;
  const std::int64_t end = first + slice_height < a.rows ? first + slice_height : a.rows;
  const bool has_row = row < a.rows;
  const Offset begin = has_row ? a.begin(row) : Offset{0};
  const offset full_length = has_row ? a.end(row) - begin : 0;
  const int length = static_cast<int>(full_length < most_entries ? full_length : most_entries);
  const Offset before = has_row && lane > 0 ? a.begin(row - 1) : begin;
  const bool is_compared = has_row && lane > 0 && (full_length > 0 || begin > before);
  bool is_moved = is_compared && begin - before == full_length, is_twin = is_moved;
  bool is_repeated = is_moved, is_exact = true, is_same = true;
  for (int k = 0; k < length; ++k) {
    const V mine = a.value(begin + k);
    is_exact = is_exact && static_cast<V>(static_cast<float>(mine)) == mine;
    is_same = is_same && mine == a.value(0);
    if (!is_moved && !is_twin) continue;
    const index distance = a.column(begin + k) - a.column(before + k);
    is_moved = is_moved && distance == 1;
    is_twin = is_twin && distance == 0;
    is_repeated = is_repeated && mine == a.value(before + k);
  }
  slice_record found;
  found.moved = __popc(__ballot_sync(full_warp, is_moved));
  found.repeated = __popc(__ballot_sync(full_warp, is_moved && is_repeated));
  found.twins = __popc(__ballot_sync(full_warp, is_twin));
  found.inexact = __popc(__ballot_sync(full_warp, !is_exact));
  found.other = __popc(__ballot_sync(full_warp, !is_same));
  found.spread = spread_of_slice(a, begin, length);
  found.compared = __popc(__ballot_sync(full_warp, is_compared));
  found.entries = offset{a.begin(end)} - offset{a.begin(first)};
  found.places = slice_height * warp_maximum(full_length);
  if (lane == 0) records[sample] = found;
}

/// A thread per sample of the fingerprint.
template <class V, class Offset>
__global__ void fingerprint_kernel(csr_view<V, Offset> a, std::uint64_t* __restrict__ words) {
  const auto s = static_cast<int>(thread_in_grid());
  if (s >= fingerprint_samples) return;
  const sampled_place at = fingerprint_place(s, a.rows, a.nnz());
  words[s * words_per_sample] = static_cast<std::uint64_t>(a.column(static_cast<Offset>(at.entry)));
  words[s * words_per_sample + 1] = bits_of_value(a.value(static_cast<Offset>(at.entry)));
  words[s * words_per_sample + 2] = static_cast<std::uint64_t>(a.begin(at.row));
}

/// A thread per sample: columns of entries from all over the matrix, at places unrelated to the rows.
template <class Column>
__global__ void sample_columns_kernel(offset nnz, const Column* __restrict__ col, int samples,
                                      Column* __restrict__ sampled) {
  const std::int64_t s = thread_in_grid();
  if (s >= samples) return;
  const std::uint64_t scattered = scatter(static_cast<std::uint64_t>(s + 1)) >> 11;
  sampled[s] = col[scattered % static_cast<std::uint64_t>(nnz)];
}

/// Calls body with the view, whatever its offsets.
template <class V, class Body> void with_view(const device_csr<V>& a, Body body) {
  if (a.is_wide())
    body(a.template view<offset>());
  else
    body(a.template view<std::int32_t>());
}

template <class Queue, class V> row_survey survey_rows(const device_csr<V>& a) {
  constexpr std::int64_t most_blocks = 256;
  const std::int64_t blocks = std::min(blocks_for(a.rows), most_blocks);
  Queue queue(*a.where(), {});
  auto records = queue.template temporary<rows_record>(static_cast<std::size_t>(blocks));
  with_view(a, [&]<class Offset>(csr_view<V, Offset> view) {
    queue.launch("survey_rows", blocks, threads_per_block, survey_rows_kernel<Offset>, a.rows,
                 view.row_begin.data(), records.data());
  });
  row_survey out;
  for (const rows_record& found : queue.read_array(records.data(), static_cast<std::size_t>(blocks))) {
    out.longest = std::max(out.longest, found.longest);
    out.in_long_rows += found.in_long_rows;
  }
  return out;
}

template <class Queue, class V> slice_survey survey_slices(const device_csr<V>& a) {
  constexpr std::int64_t most_samples = 1024;
  const std::int64_t slices = (std::int64_t{a.rows} + slice_height - 1) / slice_height;
  const auto samples = static_cast<int>(std::min(slices, most_samples));
  Queue queue(*a.where(), {});
  auto records = queue.template temporary<slice_record>(static_cast<std::size_t>(samples));
  with_view(a, [&]<class Offset>(csr_view<V, Offset> view) {
    launch_threads(queue, "survey_slices", std::int64_t{samples} * 32, survey_slices_kernel<V, Offset>, view,
                   slices, samples, records.data());
  });
  slice_survey out;
  std::int64_t rows = 0, twins = 0;
  for (const slice_record& found : queue.read_array(records.data(), static_cast<std::size_t>(samples))) {
    const bool has_diagonals = found.compared > 0 && 4 * found.moved >= 3 * found.compared;
    out.entries += found.entries;
    out.places += found.places;
    if (has_diagonals) out.in_diagonals += found.entries;
    if (has_diagonals && found.repeated == found.moved) out.in_constants += found.entries;
    if (!has_diagonals && found.spread < 1 << 8) out.within_8_bits += found.entries;
    if (!has_diagonals && found.spread < 1 << 16) out.within_16_bits += found.entries;
    if (found.inexact == 0) out.exact += found.entries;
    if (found.other == 0) out.same += found.entries;
    rows += found.compared;
    twins += found.twins;
  }
  out.twin_rows = rows == 0 ? 0 : static_cast<double>(twins) / static_cast<double>(rows);
  return out;
}

template <class Queue, class V> double find_hub_fraction(const device_csr<V>& a) {
  constexpr int half = 16384;
  if (a.nnz == 0) return 0;
  vector<index> sampled(a.where(), std::size_t{2} * half);
  Queue queue(*a.where(), {});
  launch_threads(queue, "sample_columns", 2 * half, sample_columns_kernel<index>, a.nnz, a.col.data(),
                 2 * half, sampled.data());
  const std::vector<index> columns = sampled.to_host();
  std::vector<bool> is_known(static_cast<std::size_t>(a.cols));
  for (int s = 0; s < half; ++s) is_known[static_cast<std::size_t>(columns[s])] = true;
  int again = 0;
  for (int s = half; s < 2 * half; ++s) again += is_known[static_cast<std::size_t>(columns[s])];
  return static_cast<double>(again) / half;
}

template <class Queue, class V> std::vector<std::uint64_t> find_fingerprint(const device_csr<V>& a) {
  if (a.nnz == 0) return {};
  vector<std::uint64_t> words(a.where(), std::size_t{fingerprint_samples} * words_per_sample);
  Queue queue(*a.where(), {});
  with_view(a, [&]<class Offset>(csr_view<V, Offset> view) {
    launch_threads(queue, "fingerprint", fingerprint_samples, fingerprint_kernel<V, Offset>, view,
                   words.data());
  });
  return words.to_host();
}

template <class Queue, class V>
constexpr device_surveys<V> surveys_on{survey_rows<Queue, V>, survey_slices<Queue, V>,
                                       find_hub_fraction<Queue, V>, find_fingerprint<Queue, V>};

}  // namespace nz::gpu
