#pragma once

#include <nonzero/kernel/kernel_row.hpp>

// Seconds from what the kernels predict (prediction.hpp). Rough: they decide what is worth converting, and
// the tuner measures the rest.
namespace nz {

/// A multiply, where reading x takes `waiting` beyond what its bytes take.
double predict_seconds(const prediction& of, const device_features& a, double waiting);

/// The conversion, on the device or by the host's threads.
double predict_conversion(const kernel_row& kernel, const prediction& of, const device_features& a);

/// What a conversion on the device takes besides its passes: launches, allocations, a few numbers read back.
constexpr double conversion_seconds = 3e-4;

/// The candidate for CSR that suits best where nothing is measured: the one of the highest preference.
const kernel_row& preferred_csr_kernel(device_kind kind, const device_features& a);
/// The kernel of CSR that keeps the least memory beside the matrix.
const kernel_row& smallest_csr_kernel(device_kind kind);

}  // namespace nz
