#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/core/vector.hpp>
#include <nonzero/plan/limit_internal.hpp>
#include <nonzero/plan/measure.hpp>
#include <nonzero/plan/measuring_internal.hpp>

namespace nz {
namespace {

constexpr int most_calls = 1 << 20;  // per sample, for a clock that stands still
constexpr int most_samples = 1000;
constexpr int fewest_samples = 11, fewest_when_slow = 3;

/// CUDA's first event waits some microseconds for the first launch, and a thread of the host may be
/// descheduled for longer. In the emulator a call is long and its time means little.
double shortest_sample(device_kind kind) {
  return kind == device_kind::cuda ? 1e-3 : kind == device_kind::cpu ? 2e-3 : 0;
}

/// How many times `unit` goes into `whole`, from `low` to `high`.
int times_in(double whole, double unit, int low, int high) {
  return static_cast<int>(std::clamp(whole / std::max(unit, 1e-12), double(low), double(high)));
}

/// The value below which this fraction of the sorted ones are, interpolated.
double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

/// A body that is measured, and its samples so far.
struct sampled {
  const timed_calls& run;
  int calls = 1;    // per sample
  double took = 0;  // one sample
  bool has_failed = false;
  std::vector<double> times = {};  // of one call

  void add(double seconds, double shortest) {
    has_failed = !std::isfinite(seconds);
    times.push_back(seconds / calls);
    // Something else was running when the calls were counted.
    if (!has_failed && seconds < shortest) calls = more_calls(seconds, shortest);
  }
  /// Aims a little past the shortest sample, at most tenfold: the first calls say little about later ones.
  int more_calls(double took_now, double shortest) const {
    const double times_as_many = std::clamp(1.2 * shortest / std::max(took_now, 1e-9), 1.0, 10.0);
    return static_cast<int>(std::min(std::max(times_as_many * calls, calls + 1.0), double{most_calls}));
  }
  timing result() {
    if (has_failed || times.empty()) return {};
    std::sort(times.begin(), times.end());
    return {quantile(times, 0.5), quantile(times, 0.25), quantile(times, 0.75),
            static_cast<int>(times.size()), calls};
  }
};

/// Finds how many calls make a sample, and warms up.
sampled start_sampling(const timed_calls& run, device_kind kind, double budget) {
  const double shortest = shortest_sample(kind);
  // A call may have been delayed: the shorter of two decides.
  const auto probe = [&](int calls) {
    const double once = run(calls);
    const bool decides = once < shortest || shortest == 0 || !std::isfinite(once);
    return decides ? once : std::min(once, run(calls));
  };
  sampled out{run};
  // The first call may load code and touch memory for the first time.
  if (!std::isfinite(run(1)) || !std::isfinite(out.took = probe(1))) {
    out.has_failed = true;
    return out;
  }
  while (out.took < shortest && out.calls < most_calls) {
    out.calls = out.more_calls(out.took, shortest);
    out.took = probe(out.calls);
  }
  if (kind != device_kind::emulator)  // the clocks of processors rise with work
    run(times_in(budget / 10, out.took / out.calls, 1, most_calls));
  out.has_failed = !std::isfinite(out.took);
  return out;
}

/// As many as fit if each uses its whole budget.
int find_rounds(const std::vector<sampled>& all, device_kind kind, double budget) {
  double takes = 0, budgets = 0;
  for (const sampled& c : all)
    if (!c.has_failed) {
      takes += c.took;
      budgets += budget;
    }
  const bool is_slow = kind == device_kind::emulator || fewest_samples * takes > 10 * budgets;
  return times_in(budgets, takes, is_slow ? fewest_when_slow : fewest_samples, most_samples);
}

/// Two arrays in a device's memory. The first is written, so that its pages exist.
struct copy_pair {
  copy_pair(const std::shared_ptr<device>& on, std::size_t bytes)
      : from(ones<char>(on, bytes)), to(on, bytes) {}
  vector<char> from, to;
};

std::size_t ceiling_bytes(const device& on, double budget) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  constexpr double in_a_hurry = 0.01;
  if (on.kind() == device_kind::emulator) return 4 * mebibyte;
  if (on.kind() == device_kind::cuda) return std::min(1024 * mebibyte, on.memory_bytes() / 8);
  if (budget < in_a_hurry) return std::min(32 * mebibyte, on.memory_bytes() / 8);
  // Larger caches are shared with other users, and filling more takes seconds.
  return std::min(std::clamp(8 * on.cache_bytes(), 256 * mebibyte, 1024 * mebibyte), on.memory_bytes() / 8);
}

/// That many bytes, or as many as are free.
template <class Memory, class... Options>
Memory make_large(const std::shared_ptr<device>& on, std::size_t bytes, Options... options) {
  constexpr std::size_t too_small = 1 << 20;
  for (; bytes > too_small; bytes /= 2) {
    try {
      return {on, bytes, options...};
    } catch (const device_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  return {on, bytes, options...};
}

/// Numbers in the host's memory, each first touched by the thread that will read it.
struct read_memory {
  static constexpr std::size_t block = 16;
  static constexpr std::size_t most_streams = 4;

  read_memory(const std::shared_ptr<device>& on, std::size_t bytes, int wanted_threads)
      : threads(static_cast<std::size_t>(wanted_threads)),
        blocks_per_thread(bytes / sizeof(std::uint64_t) / block / threads / most_streams * most_streams),
        words(on, threads * blocks_per_thread * block) {
    for_each_chunk(
        [&](std::uint64_t* first) { std::fill_n(first, blocks_per_thread * block, std::uint64_t{1}); });
  }

  /// By the same thread each time, if there are enough.
  template <class Body> void for_each_chunk(const Body& body) {
    in_team(static_cast<int>(threads), [&](const team_thread& me) {
      for (auto t = static_cast<std::size_t>(me.number); t < threads;
           t += static_cast<std::size_t>(me.threads))
        body(chunk_of(t));
    });
  }

  std::uint64_t* chunk_of(std::size_t thread) { return words.data() + thread * blocks_per_thread * block; }

  /// Each thread reads its chunk as several streams at once, as a multiply reads columns and values:
  /// prefetchers follow several better than one. Sums of integers, which compilers vectorize.
  template <std::size_t Streams> std::uint64_t sum() {
    std::atomic<std::uint64_t> out{0};
    for_each_chunk([&](const std::uint64_t* first) {
      const std::size_t blocks = blocks_per_thread / Streams;
      std::uint64_t sums[block] = {};
      for (std::size_t b = 0; b < blocks; ++b)
        for (std::size_t stream = 0; stream < Streams; ++stream)
          for (std::size_t i = 0; i < block; ++i) sums[i] += first[(stream * blocks + b) * block + i];
      out += std::accumulate(std::begin(sums), std::end(sums), std::uint64_t{0});
    });
    return out;
  }

  std::size_t threads, blocks_per_thread;
  vector<std::uint64_t> words;
};

}  // namespace

std::vector<timing> measure_in_turns(device_kind kind, std::span<const timed_calls> entries,
                                     const turn_options& options) {
  const double budget = options.budget_seconds > 0 ? options.budget_seconds : 0;  // NaN is none either
  std::vector<sampled> all;
  for (const timed_calls& run : entries) all.push_back(start_sampling(run, kind, budget));
  const int rounds = find_rounds(all, kind, budget);
  for (int round = 0; round < rounds; ++round) {
    if (options.report) options.report(static_cast<double>(round) / rounds);
    for (sampled& c : all) {
      if (c.has_failed) continue;
      c.add(c.run(c.calls), shortest_sample(kind));
      if (options.rest_seconds > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(options.rest_seconds));
    }
  }
  std::vector<timing> out;
  out.reserve(all.size());
  for (sampled& c : all) out.push_back(c.result());
  return out;
}

timing measure(device& on, const std::function<void(stream)>& body, const measure_options& options) {
  const timed_calls run = [&](int calls) { return on.measure(calls, body); };
  return measure_in_turns(on.kind(), {&run, 1}, {.budget_seconds = options.budget_seconds})[0];
}

// The best of several medians counts: other work on the machine only adds.

double copy_ceiling(const std::shared_ptr<device>& on, const measure_options& options) {
  auto pair = make_large<copy_pair>(on, ceiling_bytes(*on, options.budget_seconds));
  const auto copy = [&](stream in) { on->copy(pair.to.data(), pair.from.data(), pair.from.bytes(), in); };
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 3; ++round) best = std::min(best, measure(*on, copy, options).seconds);
  return 2 * static_cast<double>(pair.from.bytes()) / best;
}

double copy_speed(const std::shared_ptr<device>& on) {
  static std::mutex one_at_a_time;
  static std::map<const device*, double> known;  // devices live as long as the program
  const std::lock_guard lock(one_at_a_time);
  if (const auto found = known.find(on.get()); found != known.end()) return found->second;
  constexpr std::size_t most = std::size_t{128} << 20;
  auto pair = make_large<copy_pair>(on, std::min(most, ceiling_bytes(*on, full_ceiling.budget_seconds)));
  const auto copy = [&](stream in) { on->copy(pair.to.data(), pair.from.data(), pair.from.bytes(), in); };
  double best = on->measure(1, copy);
  for (int round = 0; round < 3; ++round) best = std::min(best, on->measure(1, copy));
  return known[on.get()] = 2 * static_cast<double>(pair.from.bytes()) / std::max(best, 1e-9);
}

read_curve::point measure_read_on_cpu(const std::shared_ptr<device>& on, std::size_t bytes, int threads,
                                      const measure_options& options) {
  auto memory = make_large<read_memory>(on, bytes, threads);
  volatile std::uint64_t sum = 0;  // or the compiler would drop the reads
  const std::function<void(stream)> ways[] = {[&](stream) { sum = memory.sum<1>(); },
                                              [&](stream) { sum = memory.sum<2>(); },
                                              [&](stream) { sum = memory.sum<4>(); }};
  double best = std::numeric_limits<double>::infinity();
  for (const auto& read : ways) best = std::min(best, measure(*on, read, options).seconds);
  return {memory.words.bytes(), best};
}

std::optional<double> read_ceiling(const std::shared_ptr<device>& on, const measure_options& options) {
  if (on->kind() != device_kind::cpu) return std::nullopt;
  const auto read =
      measure_read_on_cpu(on, ceiling_bytes(*on, options.budget_seconds), thread_count(0), options);
  return static_cast<double>(read.bytes) / read.seconds;
}

template <class V> std::uint64_t compulsory_bytes(csr_view<V> a) {
  const auto entries = static_cast<std::uint64_t>(a.nnz());
  const auto rows = static_cast<std::uint64_t>(a.rows), cols = static_cast<std::uint64_t>(a.cols);
  const std::uint64_t offset_size = a.nnz() <= std::numeric_limits<std::int32_t>::max() ? 4 : 8;
  return entries * (sizeof(V) + sizeof(index)) + (rows + 1) * offset_size + (rows + cols) * sizeof(V);
}

#define NONZERO_INSTANTIATE(V) template std::uint64_t compulsory_bytes(csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
