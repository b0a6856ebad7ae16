#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include <nonzero/formats/exact_internal.hpp>
#include <nonzero/formats/hubs_plan_internal.hpp>

namespace nz {
namespace {

template <class V> void make_room(const hubs_totals& totals, hubs<V>& out) {
  const auto steps = [](offset count) { return static_cast<std::size_t>(count) * 32; };
  out.hub_number.resize(steps(totals.hub_steps));
  out.rest_col.resize(steps(totals.rest_steps));
  out.constant.resize(static_cast<std::size_t>(totals.constants));
  out.coded_value.resize(steps(totals.coded));
  out.single_value.resize(steps(totals.singles));
  out.full_value.resize(steps(totals.fulls));
}

/// Calls body(step, entry) for what a virtual_row has in each step of its slice, hub steps first; entry -1:
/// none.
template <class V, class Body>
void for_each_step(csr_view<V> a, const hubs_plan<V>& plan, offset virtual_row, Body body) {
  const hubs_slice<offset>& slice = plan.made.slices[virtual_row / 32];
  const bool is_there = virtual_row < plan.made.virtual_rows();
  offset hub = 0, rest = slice.hub_steps;
  const offset length = is_there ? plan.made.hub_length[virtual_row] + plan.made.rest_length[virtual_row] : 0;
  for (offset k = 0; k < length; ++k) {
    const offset entry = plan.entry(virtual_row, k);
    body(plan.number[a.col[entry]] >= 0 ? hub++ : rest++, entry);
  }
  while (hub < slice.hub_steps) body(hub++, offset{-1});
  while (rest < slice.hub_steps + slice.rest_steps) body(rest++, offset{-1});
}

/// Writes the columns of one virtual_row, and its values by write(step, value, is_padding).
template <class V, class Write>
void fill_virtual_row(csr_view<V> a, const hubs_plan<V>& plan, offset virtual_row, hubs<V>& out,
                      Write write) {
  const hubs_slice<offset>& slice = plan.made.slices[virtual_row / 32];
  const offset lane = virtual_row % 32;
  for_each_step(a, plan, virtual_row, [&](offset step, offset k) {
    if (step < slice.hub_steps)
      out.hub_number[(slice.hub_step + step) * 32 + lane] =
          k < 0 ? std::uint16_t{0} : static_cast<std::uint16_t>(plan.number[a.col[k]]);
    else
      out.rest_col[(slice.rest_step + step - slice.hub_steps) * 32 + lane] = k < 0 ? 0 : a.col[k];
    write(step, k < 0 ? V{0} : a.val[k], k < 0);
  });
}

template <class V> std::uint8_t code_of(const array<V>& dictionary, V value) {
  const auto at = std::lower_bound(dictionary.begin(), dictionary.end(), value, [](V a, V b) {
    return std::bit_cast<bits_of<V>>(a) < std::bit_cast<bits_of<V>>(b);
  });
  return static_cast<std::uint8_t>(at - dictionary.begin());
}

template <class V> void fill_slice(csr_view<V> a, const hubs_plan<V>& plan, offset s, hubs<V>& out) {
  const hubs_slice<offset>& slice = plan.made.slices[s];
  for (offset lane = 0; lane < 32; ++lane) {
    const auto fill = [&](auto write) { fill_virtual_row(a, plan, s * 32 + lane, out, write); };
    const auto at = [&](offset step) { return (slice.value + step) * 32 + lane; };
    switch (slice.values) {
      case hubs_values::one:
        fill([&](offset, V value, bool is_padding) {
          if (lane == 0 && !is_padding) out.constant[slice.value] = value;
        });
        break;
      case hubs_values::coded:
        fill([&](offset step, V value, bool is_padding) {
          out.coded_value[at(step)] = is_padding ? std::uint8_t{0} : code_of(plan.made.dictionary, value);
        });
        break;
      case hubs_values::single:
        fill([&](offset step, V value, bool) { out.single_value[at(step)] = static_cast<float>(value); });
        break;
      default:
        fill([&](offset step, V value, bool) { out.full_value[at(step)] = value; });
    }
  }
}

}  // namespace

template <class V>
hubs<V> to_hubs(csr_view<V> a, const hubs_options& options, padding_budget budget,
                const for_each_runner& for_each) {
  hubs_plan<V> plan = plan_hubs(a, options, for_each);
  require_within_budget("hubs", footprint_of(plan.made, plan.totals), footprint_of(a), budget);
  make_room(plan.totals, plan.made);
  in_chunks(static_cast<offset>(plan.made.slices.size()), for_each,
            [&](offset s) { fill_slice(a, plan, s, plan.made); });
  return std::move(plan.made);
}

template <class V> csr<V> to_csr(const hubs<V>& a) {
  csr<V> out{a.rows, a.cols, array<offset>(static_cast<std::size_t>(a.rows) + 1, 0), {}, {}};
  const auto length = [&](offset s) { return offset{a.hub_length[s]} + a.rest_length[s]; };
  for (offset s = 0; s < a.virtual_rows(); ++s) out.row_begin[row_of_virtual_row(a, s) + 1] += length(s);
  for (index i = 0; i < a.rows; ++i) out.row_begin[i + 1] += out.row_begin[i];
  out.col.resize(static_cast<std::size_t>(out.nnz()));
  out.val.resize(static_cast<std::size_t>(out.nnz()));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const index row = row_of_virtual_row(a, s);
    const auto cut = std::lower_bound(a.split_row.begin(), a.split_row.end(), row) - a.split_row.begin();
    const bool is_segment = a.target[s] < 0;
    offset to = out.row_begin[row] + (is_segment ? -1 - offset{a.target[s]} - a.segment_begin[cut] : 0);
    const offset stride = is_segment ? a.segment_begin[cut + 1] - a.segment_begin[cut] : 1;
    std::array<std::pair<index, V>, 256> hub, rest;
    std::size_t hubs_here = 0, rest_here = 0;
    for_each_hub_entry(a, s, [&](index col, V val) { hub[hubs_here++] = {col, val}; });
    for_each_rest_entry(a, s, [&](index col, V val) { rest[rest_here++] = {col, val}; });
    for (std::size_t h = 0, r = 0; h < hubs_here || r < rest_here; to += stride) {
      const bool is_hub = r == rest_here || (h < hubs_here && hub[h].first < rest[r].first);
      std::tie(out.col[to], out.val[to]) = is_hub ? hub[h++] : rest[r++];
    }
  }
  return out;
}

template <class V> footprint footprint_of(const hubs<V>& a) {
  const auto steps = [](const auto& places) { return static_cast<offset>(places.size() / 32); };
  return footprint_of(
      a, hubs_totals{steps(a.hub_number), steps(a.rest_col), static_cast<offset>(a.constant.size()),
                     steps(a.coded_value), steps(a.single_value), steps(a.full_value)});
}

template <class V> footprint hubs_footprint(csr_view<V> a) {
  const hubs_plan<V> plan = plan_hubs(a, {}, run_in_order);
  return footprint_of(plan.made, plan.totals);
}

template hubs<float> to_hubs(csr_view<float>, const hubs_options&, padding_budget, const for_each_runner&);
template hubs<double> to_hubs(csr_view<double>, const hubs_options&, padding_budget, const for_each_runner&);
template csr<float> to_csr(const hubs<float>&);
template csr<double> to_csr(const hubs<double>&);
template footprint footprint_of(const hubs<float>&);
template footprint footprint_of(const hubs<double>&);
template footprint hubs_footprint(csr_view<float>);
template footprint hubs_footprint(csr_view<double>);

}  // namespace nz
