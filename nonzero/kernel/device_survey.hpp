#pragma once

#include <cstdint>
#include <vector>

#include <nonzero/kernel/device_csr.hpp>

// What a plan asks of a matrix in a device's memory, before it looks at any kernel: a launch and a small copy
// back each.
namespace nz {

/// How long the rows are.
struct row_survey {
  static constexpr offset long_row = 64;

  offset longest = 0;
  offset in_long_rows = 0;       // entries, in rows of more than long_row
  offset longest_in_slices = 0;  // of those that sell_slices leaves to a lane each
  offset apart = 0;  // entries, in rows that sell_slices leaves out of its slices, for being so long
  /// Of its slices of 32 rows, sorted by length among the nearest 1,024 and as wide as their longest row:
  /// exact where no row there is longer than 1,023, else an upper bound.
  offset places = 0;
};

/// What slices of 32 rows look like, by a sample of them, and by the first 32 entries of each of their rows.
struct slice_survey {
  offset entries = 0;  // of the slices that were looked at
  /// Of those, in slices where three rows in four have the columns of the row before, moved by one; empty
  /// rows after empty ones do not count.
  offset in_diagonals = 0;
  offset in_constants = 0;  // of those, where those rows also have the values of the row before
  /// In other slices, whose k-th entries are all within 2^8 and 2^16 columns of each other, for each k.
  offset within_8_bits = 0, within_16_bits = 0;
  offset exact = 0;      // in slices whose values single precision holds
  offset same = 0;       // in slices whose values are all the matrix's first one
  double twin_rows = 0;  // the share of rows that have the very columns of the row before: blocks
};

/// The functions for one kind of device.
template <class V> struct device_surveys {
  row_survey (*rows)(const device_csr<V>&);
  slice_survey (*slices)(const device_csr<V>&);
  /// The share of sampled entries whose column is one of another 16,384 entries: near 0 where columns are
  /// used evenly and there are many, near 1 where a few are used most.
  double (*hub_share)(const device_csr<V>&);
  std::vector<std::uint64_t> (*fingerprint)(const device_csr<V>&);  // as formats/fingerprint.hpp has it
};

}  // namespace nz
