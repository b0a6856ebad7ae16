#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <nonzero/gpu/convert/warp_packed_build.cuh>
#include <nonzero/gpu/device_formats.cuh>

namespace nz::gpu {

/// What a multiply reads of a device_warp_packed: the arrays of warp_packed<A>.
template <class A, class Offset> struct warp_packed_view {
  index rows;
  const index *row, *pattern;  // row: null where place p holds row p
  const Offset* value;
  const warp_packed_pattern* patterns;
  const warp_packed_step<A>* steps;
  const std::uint8_t* offsets;
  const float* single_value;
  const A* full_value;
};

/// warp_packed<V> in a device's memory.
template <class V, class Offset> struct device_warp_packed {
  index rows;
  vector<index> row, pattern;
  vector<Offset> value;
  vector<warp_packed_pattern> patterns;
  vector<warp_packed_step<V>> steps;
  vector<std::uint8_t> offsets;
  vector<float> single_value;
  vector<V> full_value;
  std::uint64_t padding = 0;      // in bytes
  std::int64_t of_constants = 0;  // slices of diagonals with one value each,
  std::int64_t their_steps = 0;   // and their steps

  device_warp_packed(const warp_packed<V>& a, const prepare_options& options)
      : rows(a.rows),
        row(place(options.on, a.row)),
        pattern(place(options.on, a.pattern)),
        value(place_offsets<Offset>(options.on, a.value)),
        patterns(place(options.on, a.patterns)),
        steps(place(options.on, a.steps)),
        offsets(place(options.on, a.offsets)),
        single_value(place(options.on, a.single_value)),
        full_value(place(options.on, a.full_value)),
        padding(footprint_of(a).padding_bytes) {
    for (const index i : a.pattern)
      if (a.patterns[i].width == 0 && a.patterns[i].values == packed_values::one) {
        ++of_constants;
        their_steps += a.patterns[i].steps;
      }
  }
  device_warp_packed(csr_view<V> a, const prepare_options& options)
      : device_warp_packed(to_warp_packed(a, options.budget), options) {}

  /// Made on the device. Where slices differ and their hashes do not, the host makes it. Only the mask's bits
  /// of a hash count, for tests.
  template <class Queue>
  device_warp_packed(Queue& queue, const std::shared_ptr<const device_csr<V>>& a,
                     const prepare_options& options, std::uint64_t hash_mask = ~std::uint64_t{0})
      : rows(a->rows) {
    if (rows > 0 && !convert(queue, a->template view<Offset>(), options, hash_mask))
      *this = device_warp_packed(trusted(to_host(*a)), options);
  }

  std::int64_t slices() const { return (std::int64_t{rows} + 31) / 32; }
  warp_packed_view<V, Offset> view() const {
    return {rows,         row.data(),     pattern.data(),      value.data(),     patterns.data(),
            steps.data(), offsets.data(), single_value.data(), full_value.data()};
  }
  footprint storage() const {
    return {bytes_of(row, pattern, value, patterns, steps, offsets, single_value, full_value), padding};
  }
  std::string encodings() const {
    const std::string constants = std::to_string(of_constants) + " of " + std::to_string(pattern.size()) +
                                  " slices are diagonals of constants";
    if (of_constants == static_cast<std::int64_t>(pattern.size())) return constants;
    return constants + "; the others have " + format_bytes(offsets.bytes()) + " of columns, " +
           format_bytes(single_value.bytes()) + " of values in single precision and " +
           format_bytes(full_value.bytes()) + " of values as they are";
  }

 private:
  template <class Queue>
  bool convert(Queue& queue, csr_view<V, Offset> a, const prepare_options& options, std::uint64_t hash_mask) {
    order_rows(queue, a, options);
    const warp_packed_source<V, Offset> from{a, row.data()};
    const auto count = static_cast<std::size_t>(slices());
    auto choice = queue.template temporary<warp_packed_choice>(count);
    auto owner = queue.template temporary<index>(count);
    auto sums = queue.template temporary<offset>(warp_packed_counts * (count + 1));
    auto totals = queue.template temporary<warp_packed_totals>(1);
    auto differing = queue.template temporary<unsigned>(1);
    const warp_packed_sums before{slices(), sums.data()};
    choose(queue, from, hash_mask, choice.data(), owner.data());
    launch_threads(queue, "count_slices", slices() + 1, count_slices_kernel<V>, rows, slices(), choice.data(),
                   owner.data(), sums.data());
    queue.exclusive_sum(sums.data(), sums.data(), warp_packed_counts * (slices() + 1));
    queue.launch("total_slices", 1, warp_packed_counts, total_slices_kernel<warp_packed_totals>, before,
                 totals.data(), differing.data());
    allocate(queue.read(totals.data()), a.nnz(), options);
    const warp_packed_targets<V, Offset> to{pattern.data(),   value.data(),   patterns.data(),
                                            steps.data(),     offsets.data(), single_value.data(),
                                            full_value.data()};
    launch_threads(queue, "write_patterns", slices() * 32, write_patterns_kernel<V, Offset>, from,
                   choice.data(), owner.data(), before, to);
    launch_threads(queue, "write_values", slices() * 32, write_values_kernel<V, Offset>, from, choice.data(),
                   owner.data(), before, to, differing.data());
    return queue.read(differing.data()) == 0;
  }

  /// Finds `row`. Throws `unsupported` where the lengths alone exceed the budget.
  template <class Queue>
  void order_rows(Queue& queue, csr_view<V, Offset> a, const prepare_options& options) {
    const std::int64_t windows = (std::int64_t{rows} + warp_packed_window_rows - 1) / warp_packed_window_rows;
    vector<index> order(options.on, static_cast<std::size_t>(rows));
    auto found = queue.template temporary<offset>(3 * static_cast<std::size_t>(windows));
    auto total = queue.template temporary<offset>(3);
    const window_arrays of{found.data(), found.data() + windows, found.data() + 2 * windows};
    queue.launch("order_rows", windows, warp_packed_window_rows, order_rows_kernel<Offset>, rows,
                 a.row_begin.data(), order.data(), of);
    queue.sum(of.steps, total.data(), windows);
    queue.largest(of.longest, total.data() + 1, windows);
    queue.largest(of.is_sorted, total.data() + 2, windows);
    const auto [least_steps, longest, is_any_sorted] =
        queue.read(total.data(), total.data() + 1, total.data() + 2);
    require_even_warp_packed(rows, a.nnz(), {least_steps, longest}, options.budget);
    if (is_any_sorted != 0) row = std::move(order);
  }

  /// Chooses each slice's encoding, and whose pattern it has.
  template <class Queue>
  void choose(Queue& queue, const warp_packed_source<V, Offset>& from, std::uint64_t hash_mask,
              warp_packed_choice* choice, index* owner) const {
    const auto count = static_cast<std::size_t>(slices());
    auto hash = queue.template temporary<std::uint64_t>(count);
    auto sorted_hash = queue.template temporary<std::uint64_t>(count);
    auto number = queue.template temporary<index>(count);
    auto sorted_number = queue.template temporary<index>(count);
    launch_threads(queue, "choose_warp_packed", slices() * 32, choose_warp_packed_kernel<V, Offset>, from,
                   hash_mask, choice, hash.data(), number.data());
    queue.sort_pairs(hash.data(), sorted_hash.data(), number.data(), sorted_number.data(), slices());
    launch_threads(queue, "find_owners", slices(), find_owners_kernel<std::uint64_t>, slices(),
                   sorted_hash.data(), sorted_number.data(), owner);
  }

  /// Allocates what is to be written. Throws `unsupported` where padding exceeds the budget.
  void allocate(const warp_packed_totals& total, offset nnz, const prepare_options& options) {
    const auto of = [&](warp_packed_count what) { return static_cast<std::uint64_t>(total.of[what]); };
    const auto entries = static_cast<std::uint64_t>(nnz), ends = static_cast<std::uint64_t>(rows) + 1;
    const footprint csr{entries * (sizeof(index) + sizeof(V)) + ends * sizeof(offset), 0};
    require_within_budget("warp_packed", {of(bytes_unshared), of(value_padding)}, csr, options.budget);
    padding = of(value_padding);
    of_constants = total.of[constant_slices];
    their_steps = total.of[constant_steps];
    pattern = vector<index>(options.on, static_cast<std::size_t>(slices()));
    value = vector<Offset>(options.on, static_cast<std::size_t>(slices()));
    patterns = vector<warp_packed_pattern>(options.on, of(pattern_count));
    steps = vector<warp_packed_step<V>>(options.on, of(step_count));
    offsets = vector<std::uint8_t>(options.on, 32 * of(offset_count));
    single_value = vector<float>(options.on, 32 * of(single_count));
    full_value = vector<V>(options.on, 32 * of(full_count));
  }
};

}  // namespace nz::gpu
