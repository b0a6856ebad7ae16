#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/formats/csr.hpp>

namespace nz {

/// The time of one call, in seconds. Half of the samples are between low and high.
struct timing {
  double seconds = 0;  // the median
  double low = 0, high = 0;
  int samples = 0;
  int calls_per_sample = 0;
};

struct measure_options {
  /// How long to sample; 0 or less: as briefly as possible. It takes longer where the least number of samples
  /// does, and up to a tenth more to warm up.
  double budget_seconds = 0.5;
};

/// Times `body` by the device's clock, after warming up. A sample is enough calls for that clock; there are
/// at least 11 samples, or 3 in the emulator and where 11 would take ten times the budget.
timing measure(device& on, const std::function<void(stream)>& body, const measure_options& options = {});

/// Makes that many calls and returns the seconds they took together, without warming up. A time that is not
/// finite means that it failed.
using timed_calls = std::function<double(int calls)>;

struct turn_options {
  double budget_seconds = 0.5;  // for each, on average
  /// Pause after each sample: threads that spin for their next work go to sleep meanwhile.
  double rest_seconds = 0;
  /// Called now and then with the fraction of the rounds that is done.
  std::function<void(double)> report = nullptr;
};

/// As `measure`, for several that are sampled in turns: a round is one sample of each, so that other work on
/// the machine slows all of them. All get the same number of samples, at least 11, or 3 where that would take
/// ten times all budgets. One that failed has a timing without samples.
std::vector<timing> measure_in_turns(device_kind kind, std::span<const timed_calls> entries,
                                     const turn_options& options = {});

/// How long a ceiling is measured.
inline constexpr measure_options full_ceiling{.budget_seconds = 0.2};

/// The bytes per second, read and written together, at which the device copies what its cache cannot hold:
/// what a kernel bound by memory can reach. Takes about a second, and at most a quarter of the memory.
/// With less than 0.01 s on the CPU, a rough figure of 32 MiB, which its cache may hold.
double copy_ceiling(const std::shared_ptr<device>& on, const measure_options& options = full_ceiling);

/// The same within a few percent, measured in a millisecond and then remembered.
double copy_speed(const std::shared_ptr<device>& on);

/// The same for reading alone, by all threads: what a multiply mostly does. None but for the CPU. Takes about
/// a second, and at most an eighth of the memory.
std::optional<double> read_ceiling(const std::shared_ptr<device>& on,
                                   const measure_options& options = full_ceiling);

/// What y = A x moves at least: a value and a 4-byte column per entry, the row offsets (4 bytes each
/// while they fit), x and y once.
template <class V> std::uint64_t compulsory_bytes(csr_view<V> a);
template <class V> std::uint64_t compulsory_bytes(const csr<V>& a) {
  return compulsory_bytes(csr_view<V>(a));
}

}  // namespace nz
