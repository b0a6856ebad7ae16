#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <vector>

#include <nonzero/core/vector.hpp>
#include <nonzero/plan/measure.hpp>

namespace nz {
namespace {

constexpr int most_calls = 1 << 20;  // per sample: a clock that stands still must not hold us
constexpr int most_samples = 1000;
constexpr int fewest_samples = 11, fewest_when_slow = 3;

/// CUDA's first event waits some microseconds for the first launch, and a host's thread is put aside for
/// longer. In the emulator a call is long and its time means little.
double shortest_sample(device_kind kind) {
  switch (kind) {
    case device_kind::cuda:
      return 1e-3;
    case device_kind::cpu:
      return 2e-3;
    case device_kind::emulator:
      break;
  }
  return 0;
}

/// How many times `part` goes into `whole`, from `low` to `high`.
int times_in(double whole, double part, int low, int high) {
  return static_cast<int>(std::clamp(whole / std::max(part, 1e-12), double(low), double(high)));
}

int find_fewest_samples(device_kind kind, double one_takes, double budget) {
  const bool is_slow = kind == device_kind::emulator || fewest_samples * one_takes > 10 * budget;
  return is_slow ? fewest_when_slow : fewest_samples;
}

/// The value that `part` of the sorted ones lie below; between two of them, where it falls there.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

/// Two stretches of a device's memory. The first is written, so that reading it is not reading pages that
/// are not there.
struct copy_pair {
  copy_pair(const std::shared_ptr<device>& on, std::size_t bytes) : from(on, bytes), to(on, bytes) {
    const std::vector<char> start(std::min(bytes, std::size_t{1} << 20), 1);
    on->copy(from.data(), start.data(), start.size(), {});
    for (std::size_t written = start.size(); written < bytes; written *= 2)
      on->copy(from.data() + written, from.data(), std::min(written, bytes - written), {});
    on->synchronize({});
  }
  vector<char> from, to;
};

std::size_t copy_bytes(const device& on) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  if (on.kind() == device_kind::emulator) return 4 * mebibyte;
  const std::uint64_t least = (on.kind() == device_kind::cuda ? 1024 : 256) * mebibyte;
  return std::min(std::max(8 * on.cache_bytes(), least), on.memory_bytes() / 8);
}

/// As large as copy_bytes, or as what is free allows.
copy_pair make_copy_pair(const std::shared_ptr<device>& on) {
  constexpr std::size_t too_small = 1 << 20;
  std::size_t bytes = copy_bytes(*on);
  for (; bytes > too_small; bytes /= 2) {
    try {
      return {on, bytes};
    } catch (const device_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  return {on, bytes};
}

}  // namespace

timing measure(device& on, const std::function<void(stream)>& body, const measure_options& options) {
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : 0;  // NaN is none either
  const double shortest = shortest_sample(on.kind());
  // What looks long enough may only have been held up: the shorter of two decides.
  const auto probe = [&](int calls) {
    const double once = on.measure(calls, body);
    return once < shortest || shortest == 0 ? once : std::min(once, on.measure(calls, body));
  };
  int calls = 1;
  on.measure(1, body);  // the first call may load code and touch memory that later ones find ready
  double took = probe(1);
  while (took < shortest && calls < most_calls) {
    // Aims a little past it, and no more than tenfold: the first calls say little of the later ones.
    calls = std::min(calls * std::clamp(static_cast<int>(1.2 * shortest / std::max(took, 1e-9)), 2, 10),
                     most_calls);
    took = probe(calls);
  }
  if (on.kind() != device_kind::emulator)  // the clocks of processors rise with work
    on.measure(times_in(budget / 10, took / calls, 1, most_calls), body);

  const int samples = times_in(budget, took, find_fewest_samples(on.kind(), took, budget), most_samples);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) times.push_back(on.measure(calls, body) / calls);
  std::sort(times.begin(), times.end());
  return {quantile(times, 0.5), quantile(times, 0.25), quantile(times, 0.75), samples, calls};
}

double copy_ceiling(const std::shared_ptr<device>& on) {
  copy_pair pair = make_copy_pair(on);
  const auto copy = [&](stream in) { on->copy(pair.to.data(), pair.from.data(), pair.from.bytes(), in); };
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round)
    best = std::min(best, measure(*on, copy, {.budget_seconds = 0.2}).seconds);
  return 2 * static_cast<double>(pair.from.bytes()) / best;
}

template <class V> std::uint64_t compulsory_bytes(const csr<V>& a) {
  const auto entries = static_cast<std::uint64_t>(a.nnz());
  const auto rows = static_cast<std::uint64_t>(a.rows), cols = static_cast<std::uint64_t>(a.cols);
  const std::uint64_t offset_size = a.nnz() <= std::numeric_limits<std::int32_t>::max() ? 4 : 8;
  return entries * (sizeof(V) + sizeof(index)) + (rows + 1) * offset_size + (rows + cols) * sizeof(V);
}

template std::uint64_t compulsory_bytes(const csr<float>&);
template std::uint64_t compulsory_bytes(const csr<double>&);

}  // namespace nz
