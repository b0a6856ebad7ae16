#include <bit>
#include <vector>

#include <nonzero/formats/exact_internal.hpp>
#include <nonzero/formats/hubs_plan_internal.hpp>

namespace nz {
namespace {

/// Virtual_rows in the order of rows, before they are sorted.
struct virtual_rows_in_order {
  array<index> target;
  array<offset> begin;
  array<index> stride;
  array<std::uint8_t> length, hub_length;
};

/// Cuts the long rows, and says so in `out`.
template <class V> virtual_rows_in_order split_rows(csr_view<V> a, hubs<V>& out) {
  virtual_rows_in_order all;
  offset count = 0;
  for (index i = 0; i < a.rows; ++i) count += pieces_of(a.row_length(i));
  const auto size = static_cast<std::size_t>(count);
  all.target.reserve(size);
  all.begin.reserve(size);
  all.stride.reserve(size);
  all.length.reserve(size);
  for (index i = 0; i < a.rows; ++i) {
    const offset entries = a.row_length(i), n = pieces_of(entries);
    const offset first = out.segment_begin.back();
    for (offset p = 0; p < n; ++p) {
      all.target.push_back(n == 1 ? i : static_cast<index>(-1 - (first + p)));
      all.begin.push_back(a.row_begin[i] + p);
      all.stride.push_back(static_cast<index>(n));
      all.length.push_back(static_cast<std::uint8_t>(length_of_segment(entries, n, p)));
    }
    if (n == 1) continue;
    out.split_row.push_back(i);
    out.segment_begin.push_back(first + n);
  }
  all.hub_length.resize(size, 0);
  return all;
}

/// Sorts virtual_rows by the rest, then by entries in hub columns, both falling; equal ones stay in order.
template <class V> void sort_virtual_rows(const virtual_rows_in_order& all, hubs_plan<V>& plan) {
  constexpr std::size_t side = hubs<V>::most_virtual_row_entries + 1;
  const auto key = [&](std::size_t s) {
    const std::size_t hub = all.hub_length[s], rest = all.length[s] - hub;
    return (side - 1 - rest) * side + (side - 1 - hub);
  };
  const std::size_t count = all.target.size();
  std::vector<std::size_t> next(side * side + 1);
  for (std::size_t s = 0; s < count; ++s) ++next[key(s) + 1];
  for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  hubs<V>& out = plan.made;
  out.target.resize(count);
  out.hub_length.resize(count);
  out.rest_length.resize(count);
  plan.begin.resize(count);
  plan.stride.resize(count);
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t to = next[key(s)]++;
    out.target[to] = all.target[s];
    out.hub_length[to] = all.hub_length[s];
    out.rest_length[to] = static_cast<std::uint8_t>(all.length[s] - all.hub_length[s]);
    plan.begin[to] = all.begin[s];
    plan.stride[to] = all.stride[s];
  }
}

/// Steps and kind of values of a slice; where they begin is not known yet.
template <class V> hubs_slice<offset> choose(csr_view<V> a, const hubs_plan<V>& plan, offset slice) {
  hubs_slice<offset> out{0, 0, 0, 0, 0, hubs_values::full};
  bool are_one = true, are_single = sizeof(V) > sizeof(float);
  const V* first = nullptr;
  for (offset s = slice * 32; s < std::min(slice * 32 + 32, plan.made.virtual_rows()); ++s) {
    const std::uint8_t hub = plan.made.hub_length[s], rest = plan.made.rest_length[s];
    out.hub_steps = std::max(out.hub_steps, hub);
    out.rest_steps = std::max(out.rest_steps, rest);
    for (offset k = 0; k < hub + rest; ++k) {
      const V& value = a.val[plan.entry(s, k)];
      if (first == nullptr) first = &value;
      are_one = are_one && have_same_bits(value, *first);
      are_single = are_single && is_exactly_single(value);
    }
  }
  if (first != nullptr)
    out.values = are_one                         ? hubs_values::one
                 : !plan.made.dictionary.empty() ? hubs_values::coded
                 : are_single                    ? hubs_values::single
                                                 : hubs_values::full;
  return out;
}

}  // namespace

offset hubs_totals::add(hubs_values kind, offset steps) {
  offset& next = kind == hubs_values::one      ? constants
                 : kind == hubs_values::coded  ? coded
                 : kind == hubs_values::single ? singles
                                               : fulls;
  const offset begin = next;
  next += kind == hubs_values::one ? 1 : steps;
  return begin;
}

template <class V> array<index> choose_hubs(csr_view<V> a, const hubs_options& options) {
  array<offset> uses(static_cast<std::size_t>(a.cols), 0);
  for (const index j : a.col) ++uses[j];
  array<index> used;
  for (index j = 0; j < a.cols; ++j)
    if (uses[j] > 0) used.push_back(j);
  const auto most = std::min<std::size_t>(
      {used.size(), hubs<V>::most_hubs, static_cast<std::size_t>(std::max<index>(0, options.most_hubs))});
  const auto is_before = [&](index i, index j) { return uses[i] != uses[j] ? uses[i] > uses[j] : i < j; };
  const auto end = used.begin() + static_cast<std::ptrdiff_t>(most);
  if (end != used.end()) std::nth_element(used.begin(), end, used.end(), is_before);
  used.resize(most);
  std::sort(used.begin(), used.end(), is_before);
  offset covered = 0;
  for (const index j : used) covered += uses[j];
  if (covered * options.worth_one_in < a.nnz()) used.clear();
  return used;
}

template <class V> array<V> make_dictionary(csr_view<V> a) {
  if (sizeof(V) <= sizeof(float)) return {};
  std::vector<bits_of<V>> known;
  for (const V value : a.val) {
    const auto bits = std::bit_cast<bits_of<V>>(value);
    const auto at = std::lower_bound(known.begin(), known.end(), bits);
    if (at != known.end() && *at == bits) continue;
    if (known.size() == hubs<V>::most_coded) return {};
    known.insert(at, bits);
  }
  array<V> out;
  if (known.size() < 2) return out;
  for (const auto bits : known) out.push_back(std::bit_cast<V>(bits));
  return out;
}

template <class V> footprint footprint_of(const hubs<V>& a, const hubs_totals& totals) {
  const auto bytes = [](auto count, std::size_t size) { return static_cast<std::uint64_t>(count) * size; };
  footprint out;
  out.bytes = bytes(a.hub.size() + a.split_row.size() + a.target.size(), sizeof(index)) +
              bytes(a.segment_begin.size(), sizeof(offset)) + bytes(a.hub_length.size(), 2) +
              bytes(a.slices.size(), sizeof(hubs_slice<offset>)) +
              bytes(totals.hub_steps, 32 * sizeof(std::uint16_t)) +
              bytes(totals.rest_steps, 32 * sizeof(index)) +
              bytes(totals.constants + static_cast<offset>(a.dictionary.size()), sizeof(V)) +
              bytes(totals.coded, 32) + bytes(totals.singles, 32 * sizeof(float)) +
              bytes(totals.fulls, 32 * sizeof(V));
  for (offset s = 0; s < a.virtual_rows(); ++s) {
    const hubs_slice<offset>& slice = a.slices[s / 32];
    const std::size_t value = slice.values == hubs_values::one      ? 0
                              : slice.values == hubs_values::coded  ? 1
                              : slice.values == hubs_values::single ? sizeof(float)
                                                                    : sizeof(V);
    out.padding_bytes += bytes(slice.hub_steps - a.hub_length[s], sizeof(std::uint16_t) + value) +
                         bytes(slice.rest_steps - a.rest_length[s], sizeof(index) + value);
  }
  return out;
}

template <class V>
hubs_plan<V> plan_hubs(csr_view<V> a, const hubs_options& options, const for_each_runner& for_each) {
  hubs_plan<V> plan;
  hubs<V>& out = plan.made;
  out.rows = a.rows;
  out.cols = a.cols;
  out.hub = choose_hubs(a, options);
  out.dictionary = make_dictionary(a);
  plan.number.assign(static_cast<std::size_t>(a.cols), -1);
  for (std::size_t h = 0; h < out.hub.size(); ++h) plan.number[out.hub[h]] = static_cast<index>(h);
  virtual_rows_in_order all = split_rows(a, out);
  in_chunks(static_cast<offset>(all.target.size()), for_each, [&](offset s) {
    for (offset k = 0; k < all.length[s]; ++k)
      all.hub_length[s] += plan.number[a.col[all.begin[s] + k * all.stride[s]]] >= 0 ? 1 : 0;
  });
  sort_virtual_rows(all, plan);
  out.slices.resize((out.target.size() + 31) / 32);
  in_chunks(static_cast<offset>(out.slices.size()), for_each,
            [&](offset s) { out.slices[s] = choose(a, plan, s); });
  for (hubs_slice<offset>& slice : out.slices) {
    slice.hub_step = plan.totals.hub_steps;
    slice.rest_step = plan.totals.rest_steps;
    plan.totals.hub_steps += slice.hub_steps;
    plan.totals.rest_steps += slice.rest_steps;
    slice.value = plan.totals.add(slice.values, slice.hub_steps + slice.rest_steps);
  }
  return plan;
}

template array<index> choose_hubs(csr_view<float>, const hubs_options&);
template array<index> choose_hubs(csr_view<double>, const hubs_options&);
template array<float> make_dictionary(csr_view<float>);
template array<double> make_dictionary(csr_view<double>);
template footprint footprint_of(const hubs<float>&, const hubs_totals&);
template footprint footprint_of(const hubs<double>&, const hubs_totals&);
template hubs_plan<float> plan_hubs(csr_view<float>, const hubs_options&, const for_each_runner&);
template hubs_plan<double> plan_hubs(csr_view<double>, const hubs_options&, const for_each_runner&);

}  // namespace nz
