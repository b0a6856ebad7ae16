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

/// Makes so many calls and says how many seconds they took together; what it does before them to get warm
/// again is not counted. A time that is not finite means that it can no more.
using timed_calls = std::function<double(int calls)>;

struct turn_options {
  double budget_seconds = 0.5;  // for each, on average
  /// After each sample: threads that wait for their next work by spinning go to sleep meanwhile.
  double rest_seconds = 0;
  /// Told from time to time which part of the rounds is done.
  std::function<void(double)> report = nullptr;
};

/// As `measure`, for several that are sampled in turns: a round is one sample of each, so that what else the
/// machine does hits all alike. All get the same number of samples, 11 at the least, or 3 where that would
/// take ten times all budgets. One that can no more has a timing without samples.
std::vector<timing> measure_in_turns(device_kind kind, std::span<const timed_calls> entries,
                                     const turn_options& options = {});

/// How long a ceiling is measured, for each of its samples' medians.
inline constexpr measure_options full_ceiling{.budget_seconds = 0.2};

/// The bytes per second, read and written together, at which the device copies what its cache cannot hold:
/// what a kernel bound by memory can hope for. Takes about a second, and at most a quarter of the memory.
/// With less than 0.01 s on the CPU, a rough figure of 32 MiB, which its cache may hold.
double copy_ceiling(const std::shared_ptr<device>& on, const measure_options& options = full_ceiling);

/// The same within a millisecond and a few percent, and at once when it is asked for again.
double copy_speed(const std::shared_ptr<device>& on);

/// The same for reading alone, by all threads: what a multiply mostly does. None but for the CPU. Takes about
/// a second, and at most an eighth of the memory.
std::optional<double> read_ceiling(const std::shared_ptr<device>& on,
                                   const measure_options& options = full_ceiling);

/// What y = A x moves at the least: a value and a 4-byte column per entry, the row offsets (4 bytes each
/// while they fit), x and y once.
template <class V> std::uint64_t compulsory_bytes(csr_view<V> a);
template <class V> std::uint64_t compulsory_bytes(const csr<V>& a) {
  return compulsory_bytes(csr_view<V>(a));
}

}  // namespace nz
