#include <algorithm>
#include <cmath>

#include <nonzero/plan/device_model_internal.hpp>

namespace nz {
namespace {

/// A thread that walks a row alone has some loads under way at once, and memory answers after most of a
/// microsecond.
constexpr double step_seconds = 1e-7;
/// Up to so many entries per row a thread each is faster than a group of lanes each (csr_scalar.cuh).
constexpr double short_row = 12;
/// A conversion on the host: CSR there and the result back, and threads that fill it, in bytes of CSR per
/// second.
constexpr double host_conversion_speed = 2e9;
constexpr double lanes_of_warp = 32;

double share(offset part, offset whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Bytes of a value, on average, where those that single precision holds take four, and those that are all
/// the same none.
double exact_value_bytes(const device_features& a) {
  if (a.slice.same == a.slice.entries) return 0;
  const double exact = share(a.slice.exact, a.slice.entries);
  return exact * sizeof(float) + (1 - exact) * a.value_bytes;
}

/// Where a cache holds x, gathering by slices is a little faster than by rows (H200: 0.93 of the waiting on
/// rows of 16 at random in float, 0.9 in double); past it, it is no faster. Where rows differ much, csr_merge
/// waits for other things too: 0.7 (arrow, NotreDame_www). Values that are all the same are not there.
prediction predict_sell(const device_features& a) {
  constexpr double per_slice = 8, passes = 4;  // where it begins, and its first row
  const double value = a.slice.same == a.slice.entries ? 0 : a.value_bytes;
  const double near = a.row.apart > 0 ? 0.7 : 0.9;
  const auto places = static_cast<double>(a.row.places + a.row.apart);
  const bool is_x_near = a.cols * a.value_bytes < a.cache_bytes / 2;
  return {places * (value + sizeof(index)) + a.rows / lanes_of_warp * per_slice,
          static_cast<double>(a.row.longest_in_slices), passes, is_x_near ? near : 1.0};
}

/// In blocks of n x n, n - 1 of n rows have the columns of the row before.
prediction predict_bsr(const device_features& a) {
  constexpr double least_twins = 0.45, largest_block = 8, passes = 8;
  if (a.slice.twin_rows < least_twins)
    return {.verdict = "few rows have the columns of the row before: no small dense blocks"};
  const double size = std::min(std::round(1 / (1 - std::min(a.slice.twin_rows, 0.9))), largest_block);
  // All values are held alike.
  const double value = a.slice.exact == a.slice.entries ? sizeof(float) : a.value_bytes;
  return {
      static_cast<double>(a.nnz) * (value + sizeof(index) / (size * size)) + a.rows / size * sizeof(index), 0,
      passes};  // long rows are not in blocks
}

/// Slices of diagonals hold no columns, and those of constants no values either.
prediction predict_warp_packed(const device_features& a) {
  constexpr double per_slice = 12, passes = 12;  // its pattern and its first value
  const slice_survey& s = a.slice;
  const double value = exact_value_bytes(a);
  const double in_constants = share(s.in_constants, s.entries),
               in_diagonals = share(s.in_diagonals, s.entries);
  const double in_8_bits = share(s.within_8_bits, s.entries), in_16_bits = share(s.within_16_bits, s.entries);
  const double others = 1 - in_diagonals;
  const double offsets = 1 * in_8_bits + 2 * (in_16_bits - in_8_bits) + 4 * (others - in_16_bits);
  const double padding = std::max(1.0, share(a.row.places, a.nnz));
  const double per_entry = (in_diagonals - in_constants) * value + padding * (others * value + offsets);
  return {static_cast<double>(a.nnz) * per_entry + a.rows / lanes_of_warp * per_slice,
          static_cast<double>(a.row.longest), passes};
}

/// Columns used most have short numbers, and their x is at hand. Rows are cut into virtual_rows.
prediction predict_hubs(const device_features& a) {
  constexpr double passes = 30, per_virtual_row = 6, longest_virtual_row = 128, short_number = 2;
  const double column = a.hub_share * short_number + (1 - a.hub_share) * sizeof(index);
  return {static_cast<double>(a.nnz) * (exact_value_bytes(a) + column) + a.rows * per_virtual_row,
          longest_virtual_row, passes, 1 - a.hub_share};
}

/// Whether a warp for each part of a row has enough to do nearly everywhere (csr_groups.cuh).
bool has_long_rows(const device_features& a) { return 4 * a.row.in_long_rows >= 3 * a.nnz; }

/// Whether the cache holds all of it.
bool is_near(const device_features& a) { return a.csr_bytes + a.vector_bytes() < a.cache_bytes; }

}  // namespace

std::optional<prediction> predict_on_device(std::string_view kernel, const device_features& a) {
  if (kernel == "sell_slices") return predict_sell(a);
  if (kernel == "bsr_rows") return predict_bsr(a);
  if (kernel == "warp_packed_slices") return predict_warp_packed(a);
  if (kernel == "hubs_slices") return predict_hubs(a);
  return std::nullopt;
}

double predict_seconds(const prediction& seen, const device_features& a, double bytes_per_second,
                       double waiting) {
  const double moving = (seen.bytes + a.vector_bytes()) / bytes_per_second + seen.gathers * waiting;
  return launch_seconds + std::max(moving, seen.steps * step_seconds);
}

double predict_conversion(const kernel_row& kernel, const prediction& seen, const device_features& a,
                          double bytes_per_second) {
  if (!kernel.converts_on_device) return a.csr_bytes / host_conversion_speed;
  return conversion_seconds + seen.passes * a.csr_bytes / bytes_per_second;
}

std::string_view pick_csr_kernel(const device_features& a) {
  if (a.csr_bytes < static_cast<double>(fewest_bytes))
    return static_cast<double>(a.row.longest) <= lanes_of_warp ? "csr_vector" : "csr_groups";
  if (is_near(a) || has_long_rows(a)) return "csr_groups";
  const bool is_even = static_cast<double>(a.row.longest) <= 4 * short_row;
  return is_even && a.mean_row() <= short_row ? "csr_scalar" : "csr_merge";
}

std::string rule_out_csr_kernel(std::string_view kernel, const device_features& a, double bytes_per_second) {
  const double reading = launch_seconds + (a.csr_bytes + a.vector_bytes()) / bytes_per_second;
  if (kernel == "csr_scalar") {
    if (static_cast<double>(a.row.longest) * step_seconds > reading)
      return "its longest row would hold it up";
    if (a.mean_row() > short_row) return "its rows are too long for a thread each";
  }
  if (kernel == "csr_groups" && !is_near(a) && !has_long_rows(a))
    return "its rows are too short for several lanes or a warp each";
  return {};
}

}  // namespace nz
