#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <nonzero/core/threads.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/gpu/placed.cuh>

// Strands and hubs, as they lie in a device's memory.
namespace nz::gpu {

/// What a card's multiprocessors have, as far as it decides how many hubs pay.
struct hub_room {
  std::size_t shared_bytes;  // that a block may have
  int blocks;                // each of which loads x of all hubs

  /// x and the sums are of type V. Room is left for a dictionary, and for the nearest cache beside: of the
  /// 256 KiB that an H200 has for both, 192 are taken. A hub must be met four times by each block, on
  /// average, to be worth loading.
  template <class V> index most_hubs(offset nnz) const {
    constexpr std::size_t most_bytes = 192 * 1024, coded = hubs<V>::most_coded;
    const std::size_t fit = std::min(shared_bytes, most_bytes) / sizeof(V);
    const auto paying = static_cast<std::size_t>(nnz / (offset{4} * blocks));
    return static_cast<index>(
        std::min({fit > coded ? fit - coded : std::size_t{0}, paying, hubs<V>::most_hubs}));
  }
};

template <class Offset>
vector<hubs_slice<Offset>> place_slices(const std::shared_ptr<device>& on,
                                        const array<hubs_slice<offset>>& slices) {
  array<hubs_slice<Offset>> out;
  out.reserve(slices.size());
  for (const hubs_slice<offset>& s : slices)
    out.push_back({static_cast<Offset>(s.hub_step), static_cast<Offset>(s.rest_step),
                   static_cast<Offset>(s.value), s.hub_steps, s.rest_steps, s.values});
  return place(on, out);
}

/// Values are held as Value; x, y and the sums are of type V.
template <class Value, class V, class Offset> struct placed_hubs {
  index rows, cols;
  vector<index> hub, cut_row;
  vector<offset> piece_begin;
  vector<index> target;
  vector<std::uint8_t> hub_length, rest_length;
  vector<hubs_slice<Offset>> slices;
  vector<std::uint16_t> hub_number;
  vector<index> rest_col;
  vector<Value> constant, dictionary;
  vector<std::uint8_t> coded_value;
  vector<float> single_value;
  vector<Value> full_value;
  mutable vector<V> hub_x, piece_sum;  // written and read by each multiply
  std::uint64_t padding_bytes;

  placed_hubs(const hubs<Value>& a, const prepare_options& options)
      : rows(a.rows),
        cols(a.cols),
        hub(place(options.on, a.hub)),
        cut_row(place(options.on, a.cut_row)),
        piece_begin(place(options.on, a.piece_begin)),
        target(place(options.on, a.target)),
        hub_length(place(options.on, a.hub_length)),
        rest_length(place(options.on, a.rest_length)),
        slices(place_slices<Offset>(options.on, a.slices)),
        hub_number(place(options.on, a.hub_number)),
        rest_col(place(options.on, a.rest_col)),
        constant(place(options.on, a.constant)),
        dictionary(place(options.on, a.dictionary)),
        coded_value(place(options.on, a.coded_value)),
        single_value(place(options.on, a.single_value)),
        full_value(place(options.on, a.full_value)),
        hub_x(options.on, a.hub.size()),
        piece_sum(options.on, static_cast<std::size_t>(a.piece_begin.back())),
        padding_bytes(footprint_of(a).padding_bytes) {}
  placed_hubs(const csr<Value>& a, const prepare_options& options, const hub_room& room)
      : placed_hubs(to_hubs(a, {.most_hubs = room.most_hubs<V>(a.nnz())}, options.budget,
                            [](offset count, const auto& body) { parallel_tasks(count, 0, body); }),
                    options) {}
  footprint storage() const {
    return {hub.bytes() + cut_row.bytes() + piece_begin.bytes() + target.bytes() + hub_length.bytes() +
                rest_length.bytes() + slices.bytes() + hub_number.bytes() + rest_col.bytes() +
                constant.bytes() + dictionary.bytes() + coded_value.bytes() + single_value.bytes() +
                full_value.bytes() + hub_x.bytes() + piece_sum.bytes(),
            padding_bytes};
  }
};

}  // namespace nz::gpu
