#include <algorithm>
#include <cmath>

#include <nonzero/core/values.hpp>
#include <nonzero/kernel/step_rows_internal.hpp>

namespace nz {
namespace {

/// So many rows at a time: what one loop writes is in L1 for the next.
constexpr std::size_t block = 512;

/// Eight sums at once, so that no addition waits for the one before.
template <class Term> double sum_of(std::size_t count, Term term) {
  constexpr std::size_t width = 8;
  double sums[width] = {};
  std::size_t i = 0;
  for (; i + width <= count; i += width)
    for (std::size_t e = 0; e < width; ++e) sums[e] += term(i + e);
  double rest = 0;
  for (; i < count; ++i) rest += term(i);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) + rest;
}

/// Of no more than `block` rows, which count as often as `times` says, or once if that is null.
template <class V>
double measure_rows(const row_measure<V>& measure, const V* y, const V* times, index first,
                    std::size_t count) {
  const auto sum = [=](auto term) {
    if (times == nullptr) return sum_of(count, term);
    return sum_of(count, [=](std::size_t i) { return static_cast<double>(times[i]) * term(i); });
  };
  const auto v = [y](std::size_t i) { return static_cast<double>(y[i]); };
  const V* const with = measure.with == nullptr ? nullptr : measure.with + first;
  const auto w = [with](std::size_t i) { return static_cast<double>(with[i]); };
  switch (measure.what) {
    case measured::nothing:
      return 0;
    case measured::product:
      return with == nullptr ? sum(v) : sum([=](std::size_t i) { return v(i) * w(i); });
    case measured::distance:
      return with == nullptr ? sum([=](std::size_t i) { return std::abs(v(i)); })
                             : sum([=](std::size_t i) { return std::abs(v(i) - w(i)); });
    case measured::where_zero: {
      if (with == nullptr) return sum(v);
      // In two loops: compilers make no vector instructions of one that chooses and adds.
      V chosen[block];
      for (std::size_t i = 0; i < count; ++i) {
        const V value = y[i];
        chosen[i] = with[i] == V{0} ? value : V{0};
      }
      return sum([&chosen](std::size_t i) { return static_cast<double>(chosen[i]); });
    }
    case measured::squared_distance:
      return with == nullptr ? sum([=](std::size_t i) { return v(i) * v(i); })
                             : sum([=](std::size_t i) { return (v(i) - w(i)) * (v(i) - w(i)); });
  }
  return 0;
}

template <class V>
void find_values(const fused_step<V>& step, index first, const V* sums, std::size_t count, V* y) {
  const V alpha = step.alpha, beta = step.beta, shift = step.shift;
  const V *const b = step.b == nullptr ? nullptr : step.b + first, *const c = step.c == nullptr
                                                                                  ? nullptr
                                                                                  : step.c + first;
  if (b == nullptr && c == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + shift;
  else if (c == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + beta * b[i] + shift;
  else if (b == nullptr)
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + shift * c[i];
  else
    for (std::size_t i = 0; i < count; ++i) y[i] = alpha * sums[i] + beta * b[i] + shift * c[i];
  if (step.scaled == nullptr) return;
  V* const scaled = step.scaled + first;
  if (step.scale == nullptr) {
    std::copy_n(y, count, scaled);
  } else {
    const V* const scale = step.scale + first;
    for (std::size_t i = 0; i < count; ++i) scaled[i] = y[i] * scale[i];
  }
}

}  // namespace

template <class V> fused_step<V> with_shift_read(fused_step<V> step) {
  if (step.shift_from != nullptr)
    step.shift = static_cast<V>(step.shift + step.shift_factor * *step.shift_from);
  step.shift_from = nullptr;
  return step;
}

template <class V>
step_sums finish_rows(const fused_step<V>& step, index first, std::span<const V> sums, V* y) {
  step_sums total;
  for (std::size_t done = 0; done < sums.size(); done += block) {
    const std::size_t count = std::min(block, sums.size() - done);
    const auto row = static_cast<index>(static_cast<std::size_t>(first) + done);
    find_values(step, row, sums.data() + done, count, y + row);
    const V* const times = step.count == nullptr ? nullptr : step.count + row;
    total += {measure_rows(step.measure[0], y + row, times, row, count),
              measure_rows(step.measure[1], y + row, times, row, count)};
  }
  return total;
}

#define NONZERO_INSTANTIATE(V)                           \
  template fused_step<V> with_shift_read(fused_step<V>); \
  template step_sums finish_rows(const fused_step<V>&, index, std::span<const V>, V*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
