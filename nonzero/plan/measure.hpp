#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// What one call takes, in seconds: the middle half of the samples lies between low and high.
struct timing {
  double seconds = 0;  // the median
  double low = 0, high = 0;
  int samples = 0;
  int calls_per_sample = 0;
};

struct measure_options {
  /// How long to go on sampling; not more than 0: as short as it can be. It takes longer where a few samples
  /// do, and up to a tenth more to warm up.
  double budget_seconds = 0.5;
};

/// Times `body` by the device's clock, once it is warm. A sample is as many calls as are long against that
/// clock; there are at least 11, or 3 in the emulator and where 11 would take ten times the budget.
timing measure(device& on, const std::function<void(stream)>& body, const measure_options& options = {});

/// The bytes per second, read and written together, at which the device copies what its cache cannot hold:
/// what a kernel bound by memory can hope for. Takes about a second, and at most a quarter of the memory.
double copy_ceiling(const std::shared_ptr<device>& on);

/// What y = A x moves at the least: a value and a 4-byte column per entry, the row offsets (4 bytes each
/// while they fit), x and y once.
template <class V> std::uint64_t compulsory_bytes(const csr<V>& a);

}  // namespace nz
