#pragma once

#include <cstdint>

namespace nz {

/// The sum over the rows that a fused step computes.
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

/// The sums of a fused step.
struct step_sums {
  double first = 0, second = 0;

  constexpr step_sums& operator+=(const step_sums& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// A step of an iteration, fused with the product A x in one pass. For each row:
///   v           = alpha * (A x)[row] + beta * b[row] + (shift + shift_factor * *shift_from) * c[row]
///   y[row]      = v
///   scaled[row] = v * scale[row]
///   sums[k]    += count[row] * measure[k](v, row)
/// Pointers are to arrays of `rows` numbers on the matrix's device. A null pointer leaves its term out; null
/// c and count stand for ones. Inputs may overlap x; outputs must overlap neither x nor inputs. For example:
///   PageRank  {.alpha = d, .shift = t, .scale = per_link, .scaled = next_x, .measure = {{distance, rank}}}
///   heat      {.alpha = dt, .b = u, .c = f, .shift = 1, .measure = {{squared_distance, u}}}  with x = u
///   CG        {.measure = {{product, p}}}                                                    with x = p
///   residual  {.alpha = -1, .b = b, .measure = {{squared_distance}}}
/// Host and device run it, as all epilogues (epilogue.hpp).
template <class V> struct fused_step {
  V alpha = 1;
  V beta = 1;
  const V* b = nullptr;
  const V* c = nullptr;  // null: 1
  V shift = 0;
  double shift_factor = 1;
  const double* shift_from = nullptr;  // one number: a sum of an earlier step, on the device
  const V* scale = nullptr;            // null: 1
  V* scaled = nullptr;
  const V* count = nullptr;  // the weight of a row in the sums; null: 1
  row_measure<V> measure[2] = {};

  /// Takes a row's sum; writes y and scaled, and returns v.
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

  /// The number of sums; so many numbers are written.
  constexpr int sums() const {
    return measure[1].what != measured::nothing ? 2 : measure[0].what != measured::nothing ? 1 : 0;
  }
};

}  // namespace nz
