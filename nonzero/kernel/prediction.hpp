#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nonzero/kernel/device_csr.hpp>

// What the planner measures of a matrix in a device's memory before it converts anything (surveys: one launch
// and a small copy back each), and what a kernel predicts from it. A kernel's own file holds its prediction.
namespace nz {

/// How long the rows are.
struct row_survey {
  static constexpr offset long_row = 64;

  offset longest = 0;
  offset in_long_rows = 0;  // entries in rows of more than long_row
};

/// What slices of 32 rows look like, from a sample of the slices and the first 32 entries of their rows.
struct slice_survey {
  offset entries = 0;  // in the sampled slices
  offset places = 0;   // these and padding, if all rows of a slice were as long as its longest
  /// Of those, in slices where three rows in four have the columns of the row before, shifted by one. Empty
  /// rows after empty rows do not count.
  offset in_diagonals = 0;
  offset in_constants = 0;  // of those, where the rows also repeat the values of the row before
  /// In other slices: entries whose k-th columns span less than 2^8 and 2^16, for each k.
  offset within_8_bits = 0, within_16_bits = 0;
  offset exact = 0;      // in slices whose values are exact in single precision
  offset same = 0;       // in slices whose values all equal the first value of the matrix
  double twin_rows = 0;  // fraction of rows with the same columns as the row before: dense blocks
};

/// The surveys of one kind of device.
template <class V> struct device_surveys {
  row_survey (*rows)(const device_csr<V>&) = nullptr;
  slice_survey (*slices)(const device_csr<V>&) = nullptr;
  /// The fraction of sampled entries whose column is also the column of one of 16,384 other sampled entries:
  /// near 0 where many columns are used evenly, near 1 where a few are used most.
  double (*hub_fraction)(const device_csr<V>&) = nullptr;
  std::vector<std::uint64_t> (*fingerprint)(const device_csr<V>&) = nullptr;  // as formats/fingerprint.hpp
};

/// The features of a matrix on a device, known before any candidate is converted.
struct device_features {
  /// Below this many bytes of CSR the kernel is chosen without measuring.
  static constexpr double small_bytes = 1 << 20;

  index rows = 0, cols = 0;
  offset nnz = 0;
  double value_bytes = 0;         // of a stored value
  double vector_value_bytes = 0;  // of a number of x and y
  double csr_bytes = 0;
  double cache_bytes = 0;       // of the device
  double multiplies = 0;        // that are expected
  double bytes_per_second = 0;  // that the device copies; 0: not measured
  row_survey row;
  slice_survey slice;
  double hub_fraction = 0;  // device_surveys::hub_fraction; 0: not measured

  double mean_row() const { return rows == 0 ? 0 : static_cast<double>(nnz) / rows; }
  /// Bytes of x and y.
  double vector_bytes() const { return (static_cast<double>(rows) + cols) * vector_value_bytes; }
  /// Whether the device's cache holds matrix and vectors.
  bool fits_cache() const { return csr_bytes + vector_bytes() < cache_bytes; }
  bool is_small() const { return csr_bytes < small_bytes; }
  /// Whether at least three entries in four are in rows of more than `row_survey::long_row`.
  bool has_long_rows() const { return 4 * row.in_long_rows >= 3 * nnz; }
  /// Bytes of a value on average where values that are exact in single precision take four, and none where
  /// all values are equal.
  double exact_value_bytes() const {
    if (slice.same == slice.entries) return 0;
    const double exact = fraction(slice.exact, slice.entries);
    return exact * sizeof(float) + (1 - exact) * value_bytes;
  }
  static double fraction(offset some, offset all) {
    return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
  }
};

/// The time of a launch whatever it does, and of one step of a thread that reads a row alone: it has a few
/// loads in flight, and DRAM answers after most of a microsecond.
constexpr double launch_seconds = 3e-6, step_seconds = 1e-7;

/// What a kernel expects of a matrix. Rough: it decides which kernels the tuner measures.
struct prediction {
  double bytes = 0;          // of the converted matrix
  double steps = 0;          // most entries that one thread multiplies one after the other
  double passes = 0;         // over CSR that the conversion takes
  double gathers = 1;        // time waiting for x, as a fraction of what CSR waits
  std::string verdict = {};  // why the kernel does not suit; empty where it may
  /// Where nothing is measured the planner takes the kernel with the highest preference, if that is above 0.
  double preference = 0;
};

}  // namespace nz
