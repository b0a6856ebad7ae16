#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/vector.hpp>

namespace nz {

/// Where a step of a loop reads the state and sums of the step before, and where it writes its own.
struct step_place {
  std::int64_t number;     // of the step, from 0
  int from, to;            // of the states: which it reads and which it writes
  std::size_t before, at;  // in the vector of sums: those of the step before, and its own
};

/// A loop of steps with sums.
struct step_loop {
  std::int64_t most_steps = 0;
  int sums = 2;   // of a step
  int batch = 1;  // steps between two reads of their sums by the host
  stream in = {};

  /// How many states the steps use in turn. The state in which a batch began is not written, so that the
  /// batch can be repeated.
  int states() const { return batch > 1 ? 3 : 2; }
  /// How long the vector of sums is: a batch's beside those of the batch before.
  std::size_t sums_size() const {
    return std::size_t{2} * static_cast<std::size_t>(batch) * static_cast<std::size_t>(sums);
  }
  /// Where the first step reads the sums of the one before: the caller writes them.
  std::size_t before_first() const { return sums_size() - static_cast<std::size_t>(sums); }
};

/// Steps between two reads by the host; many where each read waits for the device.
inline int steps_per_batch(const device& on) { return on.kind() == device_kind::cpu ? 1 : 16; }

/// Throws `unsupported` for an option check_every that is out of range: the steps of a batch take memory.
inline void require_batch(int check_every) {
  constexpr int most = 1'000'000;
  if (check_every < 0 || check_every > most)
    throw unsupported("check_every, the iterations between two reads, must be from 0 to " +
                      std::to_string(most) + ", and is " + std::to_string(check_every));
}

struct steps_result {
  std::int64_t steps = 0;
  int state = 0;            // which one the last step has written
  bool is_done = false;     // whether a step was the last, before there were most_steps
  double step_seconds = 0;  // of a step; without the first batch, if there are more
};

/// Times steps, without the first batch, which also loads the kernels' code.
class step_clock {
 public:
  void add(std::int64_t steps) {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    if (batches_++ == 1) seconds_ = 0, steps_ = 0;
    seconds_ += seconds;
    steps_ += steps;
    last_ = now;
  }
  /// Does not count the time since the last steps.
  void leave_out() { last_ = std::chrono::steady_clock::now(); }
  double step_seconds() const { return steps_ == 0 ? 0 : seconds_ / static_cast<double>(steps_); }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::int64_t batches_ = 0, steps_ = 0;
  double seconds_ = 0;
};

/// Runs steps, from state 0 on, up to the first for which is_last(number, its sums); it is called once for
/// each step, in order. run(step_place) puts one step into the stream. The host reads the sums of a batch in
/// one copy. Where the last step is inside a batch, the batch is repeated up to it, so that the result has
/// the same bits for any size of batches (from kernels that are repeatable).
template <class Run, class IsLast>
steps_result steps_until(const step_loop& loop, const vector<double>& sums, const Run& run,
                         const IsLast& is_last) {
  const auto width = static_cast<std::size_t>(loop.sums);
  std::vector<double> seen(static_cast<std::size_t>(loop.batch) * width);
  steps_result out;
  step_clock clock;
  // Of the step `i` of the batch that begins with step out.steps in the state out.state.
  const auto place = [&](int i) {
    const auto state = [&](int after) {
      return (out.state + (after == 0 ? 0 : 2 - after % 2)) % loop.states();
    };
    const auto slots = static_cast<std::int64_t>(2) * loop.batch;
    const std::int64_t number = out.steps + i;
    return step_place{number, state(i), state(i + 1),
                      static_cast<std::size_t>((number + slots - 1) % slots) * width,
                      static_cast<std::size_t>(number % slots) * width};
  };
  const auto run_batch = [&](int count) {
    for (int i = 0; i < count; ++i) run(place(i));
  };
  while (!out.is_done && out.steps < loop.most_steps) {
    const auto count = static_cast<int>(std::min<std::int64_t>(loop.batch, loop.most_steps - out.steps));
    run_batch(count);
    device& on = *sums.where();
    on.copy(seen.data(), sums.data() + place(0).at, static_cast<std::size_t>(count) * width * sizeof(double),
            loop.in);
    on.synchronize(loop.in);
    clock.add(count);
    int kept = 0;
    while (kept < count && !out.is_done) {
      out.is_done = is_last(out.steps + kept, std::span<const double>(seen).subspan(
                                                  static_cast<std::size_t>(kept) * width, width));
      ++kept;
    }
    // The state before the batch's last step still exists, those before it do not.
    if (kept + 1 < count) run_batch(kept);
    out.state = place(kept - 1).to;
    out.steps += kept;
  }
  out.step_seconds = clock.step_seconds();
  return out;
}

}  // namespace nz
