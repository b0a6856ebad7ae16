#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/invariants_internal.hpp>
#include <nonzero/io/assemble.hpp>

namespace nz {
namespace {

// The entries of a bucket should stay in the cache while its rows are built.
constexpr offset entries_per_bucket = 131072;
constexpr int max_bucket_bits = 16;  // rows within a bucket are kept in 16 bits

int choose_bucket_bits(index rows, offset expected_entries) {
  const offset buckets = std::clamp<offset>(expected_entries / entries_per_bucket, 1, 1024);
  int bits = 0;
  while (bits < max_bucket_bits && (offset{rows} >> bits) > buckets) ++bits;
  return bits;
}

constexpr offset short_row = 24;  // up to this length insertion sort is faster

/// Memory for sorting a row, kept from row to row.
template <class V> struct sort_scratch {
  std::vector<std::uint64_t> keys;
  std::vector<V> val;
};

/// Sorts a short row by column; entries of the same column stay in order.
template <class V> void insertion_sort(index* col, V* val, offset length) {
  for (offset k = 1; k < length; ++k) {
    const index j = col[k];
    const V v = val[k];
    offset to = k;
    for (; to > 0 && col[to - 1] > j; --to) {
      col[to] = col[to - 1];
      val[to] = val[to - 1];
    }
    col[to] = j;
    val[to] = v;
  }
}

/// The same for any row: sorts integers made of column and position, which keeps the order of equal columns.
template <class V> void key_sort(index* col, V* val, offset length, sort_scratch<V>& scratch) {
  if (length > offset{std::numeric_limits<std::uint32_t>::max()})
    throw unsupported(fmt::format("a row of {} entries, duplicates included, is too long to sort", length));
  scratch.keys.resize(length);
  scratch.val.assign(val, val + length);
  for (offset k = 0; k < length; ++k)
    scratch.keys[k] = static_cast<std::uint64_t>(col[k]) << 32 | static_cast<std::uint64_t>(k);
  std::sort(scratch.keys.begin(), scratch.keys.end());
  for (offset k = 0; k < length; ++k) {
    col[k] = static_cast<index>(scratch.keys[k] >> 32);
    val[k] = scratch.val[scratch.keys[k] & 0xffffffff];
  }
}

/// Sorts a row by column and adds up entries of the same column, in order. Returns how many remain.
template <class V> offset sort_and_sum(index* col, V* val, offset length, sort_scratch<V>& scratch) {
  bool is_rising = true;
  for (offset k = 1; k < length; ++k) is_rising &= col[k - 1] < col[k];
  if (is_rising) return length;
  if (length <= short_row)
    insertion_sort(col, val, length);
  else
    key_sort(col, val, length, scratch);
  offset kept = 1;
  for (offset k = 1; k < length; ++k) {
    if (col[kept - 1] == col[k]) {
      val[kept - 1] += val[k];
    } else {
      col[kept] = col[k];
      val[kept++] = val[k];
    }
  }
  return kept;
}

template <class V> void move_entries(csr<V>& a, offset from, offset to, offset count) {
  std::copy_n(a.col.data() + from, count, a.col.data() + to);
  std::copy_n(a.val.data() + from, count, a.val.data() + to);
}

}  // namespace

void require_reasonable_shape(index rows, index cols, offset entries, std::string_view name) {
  constexpr index always_fine = index{1} << 23;  // 64 MiB
  const index longest = std::max(rows, cols);
  if (longest <= always_fine || entries >= longest / 1024) return;
  throw unsupported(fmt::format(
      "{}: {} x {} for {} entries: a table of its {} alone would take {}; renumber those that have entries",
      name, rows, cols, entries, rows >= cols ? "rows" : "columns",
      format_bytes((static_cast<std::uint64_t>(longest) + 1) * sizeof(offset))));
}

template <class V>
assembler<V>::assembler(index rows, index cols, offset expected_entries)
    : rows_(rows), cols_(cols), bucket_bits_(choose_bucket_bits(rows, expected_entries)) {
  invariants{"csr"}.sizes(rows, cols);
  buckets_ = (static_cast<std::size_t>(rows) + (std::size_t{1} << bucket_bits_) - 1) >> bucket_bits_;
}

template <class V> entry_list<V> assembler<V>::take_list() {
  const std::lock_guard lock(mutex_);
  if (spare_.empty()) return {};
  entry_list<V> list = std::move(spare_.back());
  spare_.pop_back();
  return list;
}

template <class V> void assembler<V>::add(std::size_t position, entry_list<V>&& list) {
  const std::size_t size = list.row.size();
  if (size >= std::numeric_limits<std::uint32_t>::max())
    throw unsupported(fmt::format("a list of {} entries is too long to assemble at once", size));
  entries_ += static_cast<offset>(size);

  sorted_list sorted;
  // Bucket b is counted at b + 2. The sums then hold its begin at b + 1, and filling moves that to its end.
  sorted.bucket_begin.assign(buckets_ + 2, 0);
  for (const index i : list.row) ++sorted.bucket_begin[(i >> bucket_bits_) + 2];
  std::partial_sum(sorted.bucket_begin.begin(), sorted.bucket_begin.end(), sorted.bucket_begin.begin());
  sorted.row.resize(size);
  sorted.col.resize(size);
  sorted.val.resize(list.val.size());
  const index in_bucket = (index{1} << bucket_bits_) - 1;
  for (std::size_t k = 0; k < size; ++k) {
    const index i = list.row[k];
    const std::uint32_t to = sorted.bucket_begin[(i >> bucket_bits_) + 1]++;
    sorted.row[to] = static_cast<std::uint16_t>(i & in_bucket);
    sorted.col[to] = list.col[k];
    if (!list.val.empty()) sorted.val[to] = list.val[k];
  }
  sorted.bucket_begin.pop_back();

  list.resize(0);
  const std::lock_guard lock(mutex_);
  if (lists_.size() <= position) lists_.resize(position + 1);
  lists_[position] = std::move(sorted);
  spare_.push_back(std::move(list));
}

template <class V>
void assembler<V>::add_in_lists(offset count, int threads,
                                const std::function<void(offset, offset, entry_list<V>&)>& fill) {
  constexpr offset entries_per_list = offset{1} << 17;  // should stay in the cache
  parallel_tasks((count + entries_per_list - 1) / entries_per_list, threads, [&](offset p) {
    const offset begin = p * entries_per_list;
    entry_list<V> list = take_list();
    fill(begin, std::min(count, begin + entries_per_list), list);
    add(static_cast<std::size_t>(p), std::move(list));
  });
}

template <class V>
void assembler<V>::build_bucket(std::size_t bucket, csr<V>& a, offset begin, offset& kept) const {
  const auto first = static_cast<index>(bucket << bucket_bits_);
  const auto count = static_cast<index>(std::min<offset>(offset{1} << bucket_bits_, offset{rows_} - first));
  array<offset> next(static_cast<std::size_t>(count) + 1, 0);  // where each row's next entry goes
  for (const sorted_list& list : lists_)
    for (auto k = list.bucket_begin[bucket]; k < list.bucket_begin[bucket + 1]; ++k) ++next[list.row[k] + 1];
  next[0] = begin;
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (const sorted_list& list : lists_)
    for (auto k = list.bucket_begin[bucket]; k < list.bucket_begin[bucket + 1]; ++k) {
      const offset to = next[list.row[k]]++;
      a.col[to] = list.col[k];
      a.val[to] = list.val.empty() ? V{1} : list.val[k];
    }
  // Now next[r] is where row r ends. Rows move into the gaps that summing leaves. row_begin holds lengths
  // until `finish` adds them up.
  sort_scratch<V> scratch;
  offset from = begin, to = begin;
  for (index r = 0; r < count; ++r) {
    const offset length = sort_and_sum(a.col.data() + from, a.val.data() + from, next[r] - from, scratch);
    if (to != from) move_entries(a, from, to, length);
    a.row_begin[first + r + 1] = length;
    from = next[r];
    to += length;
  }
  kept = to - begin;
}

template <class V> typename assembler<V>::result assembler<V>::finish(int threads) {
  require_reasonable_shape(rows_, cols_, entries_, "csr");
  std::vector<entry_list<V>>().swap(spare_);

  array<offset> bucket_begin(buckets_ + 1, 0), kept(buckets_, 0);
  for (const sorted_list& list : lists_)
    for (std::size_t b = 0; b < buckets_; ++b)
      bucket_begin[b + 1] += list.bucket_begin[b + 1] - list.bucket_begin[b];
  std::partial_sum(bucket_begin.begin(), bucket_begin.end(), bucket_begin.begin());

  result out;
  csr<V>& a = out.matrix;
  a.rows = rows_;
  a.cols = cols_;
  a.row_begin.resize(static_cast<std::size_t>(rows_) + 1);
  a.row_begin[0] = 0;
  a.col.resize(entries_);
  a.val.resize(entries_);
  parallel_tasks(static_cast<std::int64_t>(buckets_), threads,
                 [&](std::int64_t b) { build_bucket(b, a, bucket_begin[b], kept[b]); });
  lists_.clear();

  // Close the gaps that summing left between buckets.
  offset total = 0;
  for (std::size_t b = 0; b < buckets_; ++b) {
    if (total != bucket_begin[b]) move_entries(a, bucket_begin[b], total, kept[b]);
    total += kept[b];
  }
  std::partial_sum(a.row_begin.begin(), a.row_begin.end(), a.row_begin.begin());
  a.col.resize(total);
  a.val.resize(total);
  if (total < entries_ / 2) {  // mostly duplicates: not worth keeping their memory
    a.col.shrink_to_fit();
    a.val.shrink_to_fit();
  }
  out.duplicates = entries_ - total;
  return out;
}

#define NONZERO_INSTANTIATE(V) template class assembler<V>;
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
