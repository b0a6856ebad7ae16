#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz {

/// Entries in any order. An empty `val` stands for ones.
template <class V> struct entry_list {
  array<index> row, col;  // equally long; inside the matrix
  array<V> val;           // as long, or empty

  void resize(std::size_t count, bool has_values = true) {
    row.resize(count);
    col.resize(count);
    val.resize(has_values ? count : 0);
  }
};

/// Throws `unsupported` for a matrix of few entries whose row table, or a vector for whose columns, would
/// take more than 1 GiB: a file of a few bytes may ask for that. `name` is the file's name in the message.
void require_reasonable_shape(index rows, index cols, offset entries, std::string_view name);

/// Makes a CSR matrix from lists of entries of many threads: rows sorted by column, duplicates summed in the
/// order of the lists, the same result for any number of threads.
///
/// Rows are divided into buckets that fit into a cache. `add` sorts a list by bucket while it is in the
/// cache; `finish` then builds the rows of each bucket. Memory in between: 6 bytes and the value per entry.
template <class V> class assembler {
 public:
  /// `expected_entries` only tunes the size of buckets. Throws `shape_error` for negative sizes.
  assembler(index rows, index cols, offset expected_entries);

  /// An empty list; reuses the memory of one that was added.
  entry_list<V> take_list();
  /// Adds list number `position`: each of 0, 1, 2, … once, in any order, from any thread.
  void add(std::size_t position, entry_list<V>&& list);
  /// Adds `count` entries in parallel: fill(begin, end, list) makes the list of the entries [begin, end).
  void add_in_lists(offset count, int threads,
                    const std::function<void(offset, offset, entry_list<V>&)>& fill);

  struct result {
    csr<V> matrix;
    offset duplicates;  // entries that were added to others
  };
  /// Ends the assembly. Throws as require_reasonable_shape does.
  result finish(int threads = 0);

 private:
  struct sorted_list {
    array<std::uint32_t> bucket_begin;  // one more than buckets long
    array<std::uint16_t> row;           // within its bucket
    array<index> col;
    array<V> val;  // or empty: ones
  };
  void build_bucket(std::size_t bucket, csr<V>& a, offset begin, offset& kept) const;

  index rows_, cols_;
  int bucket_bits_;  // bucket of row i: i >> bucket_bits_
  std::size_t buckets_;
  std::atomic<offset> entries_{0};
  std::mutex mutex_;  // guards lists_ and spare_
  std::vector<sorted_list> lists_;
  std::vector<entry_list<V>> spare_;
};

}  // namespace nz
