#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nonzero/kernel/device_survey.hpp>
#include <nonzero/kernel/kernel_row.hpp>

// What the GPU's kernels would take for a matrix, by what the surveys say of it. Rough: it decides what is
// worth converting, and the tuner decides the rest.
namespace nz {

/// What is known of a matrix before any candidate is converted.
struct device_features {
  index rows = 0, cols = 0;
  offset nnz = 0;
  double value_bytes = 0;
  double csr_bytes = 0;
  double cache_bytes = 0;  // the device's
  row_survey row;
  slice_survey slice;
  double hub_share = 0;  // device_surveys::hub_share; 0: not looked at

  double mean_row() const { return rows == 0 ? 0 : static_cast<double>(nnz) / rows; }
  /// What x and y move.
  double vector_bytes() const { return (static_cast<double>(rows) + cols) * value_bytes; }
};

struct prediction {
  double bytes = 0;          // of the converted matrix
  double steps = 0;          // entries that one thread multiplies one after the other, at the most
  double passes = 0;         // over CSR that the conversion takes
  double gathers = 1;        // what it waits for x, as a share of what CSR does
  std::string verdict = {};  // why it does not suit; empty where it may
};

/// None for a kernel that there is no model of.
std::optional<prediction> predict_on_device(std::string_view kernel, const device_features& a);

/// What so many bytes and steps take, where bytes move at so many per second and reading x adds `waiting`.
double predict_seconds(const prediction& seen, const device_features& a, double bytes_per_second,
                       double waiting);

/// Conversion of all of it, on the device or by the host's threads.
double predict_conversion(const kernel_row& kernel, const prediction& seen, const device_features& a,
                          double bytes_per_second);

/// What a conversion on the device takes besides its passes: launches, memory, a few numbers read back.
constexpr double conversion_seconds = 3e-4;
/// What starting a kernel takes, whatever it does.
constexpr double launch_seconds = 3e-6;

/// Bytes of CSR below which what suits is known without measuring.
constexpr std::uint64_t fewest_bytes = 1 << 20;
/// Keeps nothing beside the matrix but what steps need.
constexpr std::string_view smallest_csr_kernel = "csr_vector";
/// The kernel of CSR for a matrix that is not worth measuring.
std::string_view pick_csr_kernel(const device_features& a);
/// Why a kernel of CSR need not be timed; empty where it might be the fastest of them.
std::string rule_out_csr_kernel(std::string_view kernel, const device_features& a, double bytes_per_second);

}  // namespace nz
