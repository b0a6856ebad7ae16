#pragma once

#include <cstdint>

namespace nz {

/// What a fused step adds up over the rows.
enum class measured : std::uint8_t { nothing, product, distance, squared_distance, where_zero };

/// One sum of a fused step, of each row's value v and a number w = with[row]: v * w, |v - w|, (v - w)^2, or v
/// where w is 0; in double whatever V is.
template <class V> struct row_measure {
  measured what = measured::nothing;
  const V* with = nullptr;  // rows long; null: w is 1 for a product and 0 for the others

  constexpr double operator()(V value, std::int64_t row) const {
    if (what == measured::nothing) return 0;
    const auto v = static_cast<double>(value);
    if (what == measured::product) return with == nullptr ? v : v * static_cast<double>(with[row]);
    if (what == measured::where_zero) return with == nullptr || with[row] == V{0} ? v : 0.0;
    const double difference = with == nullptr ? v : v - static_cast<double>(with[row]);
    if (what == measured::squared_distance) return difference * difference;
    return difference < 0 ? -difference : difference;
  }
};

/// The two sums that a fused step may have.
struct step_sums {
  double first = 0, second = 0;

  constexpr step_sums& operator+=(const step_sums& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// A step of an iteration, made of A x in the pass that finds it. For each row:
///   v           = alpha * (A x)[row] + beta * b[row] + (shift + shift_factor * *shift_from) * c[row]
///   y[row]      = v
///   scaled[row] = v * scale[row]
///   sums[k]    += count[row] * measure[k](v, row)
/// Pointers are to memory of the matrix's device and to as many numbers as there are rows; a null one leaves
/// its part out, but for c and count: a null one is all ones. What is read may be x or overlap it; what is
/// written must not overlap x or what is read. For example, with `step` as a designated initializer:
///   PageRank  {.alpha = d, .shift = t, .scale = per_link, .scaled = next_x, .measure = {{distance, rank}}}
///   heat      {.alpha = dt, .b = u, .c = f, .shift = 1, .measure = {{squared_distance, u}}}  with x = u
///   CG        {.measure = {{product, p}}}                                                    with x = p
///   residual  {.alpha = -1, .b = b, .measure = {{squared_distance}}}
/// A value type that host and device run, as all epilogues (epilogue.hpp).
template <class V> struct fused_step {
  V alpha = 1;
  V beta = 1;
  const V* b = nullptr;
  const V* c = nullptr;  // null: 1
  V shift = 0;
  double shift_factor = 1;
  const double* shift_from = nullptr;  // one number: a sum that an earlier step left on the device
  const V* scale = nullptr;            // null: 1
  V* scaled = nullptr;
  const V* count = nullptr;  // how often a row counts in the sums; null: once
  row_measure<V> measure[2] = {};

  /// What becomes of a row's sum: writes y and scaled, and returns v.
  constexpr V operator()(V sum, std::int64_t row, V& y) const {
    V value = alpha * sum;
    if (b != nullptr) value += beta * b[row];
    const V along_c = shift_from == nullptr ? shift : static_cast<V>(shift + shift_factor * *shift_from);
    value += c == nullptr ? along_c : along_c * c[row];
    y = value;
    if (scaled != nullptr) scaled[row] = scale == nullptr ? value : value * scale[row];
    return value;
  }

  constexpr step_sums measure_row(V value, std::int64_t row) const {
    const double times = count == nullptr ? 1.0 : static_cast<double>(count[row]);
    return {times * measure[0](value, row), times * measure[1](value, row)};
  }

  /// How many sums there are: the first `sums()` numbers of what the caller gives for them are written.
  constexpr int sums() const {
    return measure[1].what != measured::nothing ? 2 : measure[0].what != measured::nothing ? 1 : 0;
  }
};

}  // namespace nz
