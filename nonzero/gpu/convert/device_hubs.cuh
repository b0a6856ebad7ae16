#pragma once

#include <cstdint>
#include <string>

#include <nonzero/formats/hubs.hpp>
#include <nonzero/gpu/convert/make_hubs.cuh>
#include <nonzero/gpu/device_formats.cuh>

namespace nz::gpu {

/// hubs<Value> as it lies in a device's memory; x, y and the sums are of type V.
template <class Value, class V, class Offset> struct device_hubs {
  index rows = 0, cols = 0;
  vector<index> hub, split_row;
  vector<offset> segment_begin;
  vector<index> target;
  vector<std::uint8_t> hub_length, rest_length;
  vector<hubs_slice<Offset>> slices;
  vector<std::uint16_t> hub_number;
  vector<index> rest_col;
  vector<Value> constant, dictionary;
  vector<std::uint8_t> coded_value;
  vector<float> single_value;
  vector<Value> full_value;
  mutable vector<V> hub_x, segment_sum;  // written and read by each multiply
  offset segments = 0;
  std::uint64_t padding_bytes = 0;

  template <class Queue>
  device_hubs(Queue& queue, const std::shared_ptr<const device_csr<Value>>& a,
              const prepare_options& options) {
    hubs_maker<Queue, device_hubs, Value, Offset>(queue, csr_on_device<Value, Offset>(a), options, *this)
        .make(room_for_hubs<V>(queue, a->nnz));
    hub_x = vector<V>(options.on, hub.size());
    segment_sum = vector<V>(options.on, static_cast<std::size_t>(segments));
  }
  std::string encodings() const {
    return std::to_string(hub.size()) + " columns are hubs; " + std::to_string(split_row.size()) +
           " rows are cut; values take " + format_bytes(coded_value.bytes()) + " as codes, " +
           format_bytes(single_value.bytes()) + " in single precision and " +
           format_bytes(full_value.bytes()) + " as they are; " + std::to_string(constant.size()) + " of " +
           std::to_string(slices.size()) + " slices have one value";
  }
  footprint storage() const {
    return {hub.bytes() + split_row.bytes() + segment_begin.bytes() + target.bytes() + hub_length.bytes() +
                rest_length.bytes() + slices.bytes() + hub_number.bytes() + rest_col.bytes() +
                constant.bytes() + dictionary.bytes() + coded_value.bytes() + single_value.bytes() +
                full_value.bytes() + hub_x.bytes() + segment_sum.bytes(),
            padding_bytes};
  }
};

}  // namespace nz::gpu
