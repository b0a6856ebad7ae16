#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <nonzero/core/errors.hpp>
#include <nonzero/formats/hubs.hpp>
#include <nonzero/gpu/convert/hubs_kernels.cuh>
#include <nonzero/gpu/long_rows.cuh>

// to_hubs on the device, from CSR in its memory: the result has the bits of to_hubs. The entries are read
// four times: to count columns, to collect values, for the lengths and kinds of virtual rows, and to fill the
// slices.
namespace nz::gpu {

/// How many hubs there may be, for x of type V. Shared memory also holds a dictionary and the sums of a fused
/// step, and L1 needs room: of the 256 KiB that an H200 has for both, 192 are used. Each multiprocessor loads
/// x of all hubs, which pays off if it uses each at least twice, on average.
template <class V, class Queue> index room_for_hubs(const Queue& queue, offset nnz) {
  constexpr std::size_t most_bytes = 192 * 1024, coded = hubs<V>::most_coded;
  const std::size_t fit =
      std::min(queue.most_shared_bytes() - block_sums_shared_bytes, most_bytes) / sizeof(V);
  const auto paying = static_cast<std::size_t>(nnz / (offset{2} * queue.multiprocessors()));
  return static_cast<index>(
      std::min({fit > coded ? fit - coded : std::size_t{0}, paying, hubs<V>::most_hubs}));
}

/// The values of a table that was filled, sorted by their bits, if they are 2 to 256.
template <class V> array<V> values_in_table(std::span<const unsigned long long> cell) {
  std::vector<unsigned long long> known;
  if (cell[value_table::taken] <= value_table::most)
    std::copy_if(cell.begin(), cell.begin() + value_table::slots, std::back_inserter(known),
                 [](unsigned long long slot) { return slot != value_table::no_value; });
  if (cell[value_table::has_no_value] != 0) known.push_back(value_table::no_value);
  array<V> out;
  if (cell[value_table::taken] > value_table::most || known.size() < 2 || known.size() > value_table::most)
    return out;
  std::sort(known.begin(), known.end());
  for (const unsigned long long value : known)
    out.push_back(std::bit_cast<V>(static_cast<bits_of<V>>(value)));
  return out;
}

/// Makes the arrays of a device_hubs.
template <class Queue, class Matrix, class Value, class Offset> class hubs_maker {
 public:
  hubs_maker(Queue& queue, const csr_view<Value, Offset>& a, const prepare_options& options, Matrix& out)
      : queue_(queue), a_(a), options_(options), out_(out) {}

  void make(index most_hubs) {
    out_.rows = a_.rows;
    out_.cols = a_.cols;
    auto number = queue_.template temporary<index>(static_cast<std::size_t>(a_.cols));
    choose_hubs(std::min(most_hubs, a_.cols), number.data());
    collect_values();
    split_rows(number.data());
  }

 private:
  template <class T> vector<T> room(std::int64_t size) {
    return vector<T>(options_.on, static_cast<std::size_t>(size));
  }
  template <class T> auto temporary(std::int64_t size) {
    return queue_.template temporary<T>(static_cast<std::size_t>(size));
  }

  /// How often each column is used decides which are hubs.
  void choose_hubs(index most, index* number) {
    using count = std::conditional_t<sizeof(Offset) == 4, unsigned, unsigned long long>;
    using key = std::conditional_t<sizeof(Offset) == 4, std::uint32_t, std::uint64_t>;
    launch_threads(queue_, "fill", a_.cols, fill_kernel<index>, a_.cols, -1, number);
    if (most == 0) return;
    auto uses = temporary<count>(a_.cols);
    auto keys = temporary<key>(a_.cols), sorted_keys = temporary<key>(a_.cols);
    auto columns = temporary<index>(a_.cols), sorted = temporary<index>(a_.cols);
    auto top = temporary<std::int64_t>(most + 1);
    auto is_used = temporary<std::int32_t>(most + 1);
    launch_threads(queue_, "fill", a_.cols, fill_kernel<count>, a_.cols, 0, uses.data());
    launch_threads(queue_, "count_columns", a_.nnz(), count_columns_kernel<count>, a_.nnz(), a_.col.data(),
                   uses.data());
    launch_threads(queue_, "column_keys", a_.cols, column_keys_kernel<count, key>, a_.cols, uses.data(),
                   keys.data(), columns.data());
    queue_.sort_pairs(keys.data(), sorted_keys.data(), columns.data(), sorted.data(), a_.cols);
    launch_threads(queue_, "column_uses", most, column_uses_kernel<key>, most, sorted_keys.data(), top.data(),
                   is_used.data());
    queue_.sum(top.data(), top.data() + most, most);
    queue_.sum(is_used.data(), is_used.data() + most, most);
    const auto [covered, used] = queue_.read(top.data() + most, is_used.data() + most);
    if (covered * hubs_options{}.worth_one_in < a_.nnz()) return;
    out_.hub = room<index>(used);
    launch_threads(queue_, "number_hubs", used, number_hubs_kernel<index>, used, sorted.data(),
                   out_.hub.data(), number);
  }

  void collect_values() {
    if constexpr (sizeof(Value) <= sizeof(float)) return;
    vector<unsigned long long> table = room<unsigned long long>(value_table::cells);
    constexpr std::int64_t each = 16;
    launch_threads(queue_, "fill", value_table::slots, fill_kernel<unsigned long long>, value_table::slots,
                   value_table::no_value, table.data());
    launch_threads(queue_, "fill", 2, fill_kernel<unsigned long long>, 2, 0,
                   table.data() + value_table::slots);
    launch_threads(queue_, "collect_values", (a_.nnz() + each - 1) / each, collect_values_kernel<Value>,
                   a_.nnz(), a_.val.data(), table.data());
    const std::vector<unsigned long long> cells = table.to_host();
    const array<Value> values = values_in_table<Value>(cells);
    if (!values.empty()) out_.dictionary = place(options_.on, values);
  }

  /// Lists virtual rows in the order of rows.
  void split_rows(const index* number) {
    constexpr offset most = hubs<Value>::most_virtual_row_entries;
    auto split = temporary<std::int64_t>(std::int64_t{a_.rows} + 1);
    launch_threads(queue_, "count_segments", std::int64_t{a_.rows} + 1, count_segments_kernel<Offset>,
                   a_.rows, a_.row_begin.data(), split_rule{most, most, most}, split.data(), nullptr);
    queue_.exclusive_sum(split.data(), split.data(), std::int64_t{a_.rows} + 1);
    const std::int64_t total = queue_.read(split.data() + a_.rows), splits = total >> 32;
    out_.segments = total & 0xffffffff;
    const std::int64_t virtual_rows = a_.rows - splits + out_.segments;
    if (virtual_rows > std::numeric_limits<index>::max())
      throw unsupported("hubs: " + std::to_string(virtual_rows) +
                        " rows and segments of rows are more than 2^31");
    auto target = temporary<index>(virtual_rows);
    auto begin = temporary<Offset>(virtual_rows), stride = temporary<Offset>(virtual_rows);
    auto length = temporary<std::uint8_t>(virtual_rows);
    const virtual_row_list<Offset> list{target.data(), begin.data(), stride.data(), length.data()};
    out_.split_row = room<index>(splits);
    out_.segment_begin = room<offset>(splits + 1);
    launch_threads(queue_, "list_rows", std::int64_t{a_.rows} + 1, list_rows_kernel<Offset>, a_.rows,
                   a_.row_begin.data(), split.data(), list, out_.split_row.data(), out_.segment_begin.data());
    launch_threads(queue_, "list_hub_segments", out_.segments, list_hub_segments_kernel<Offset>,
                   out_.segments, splits, a_.row_begin.data(), out_.split_row.data(),
                   out_.segment_begin.data(), list);
    sort_virtual_rows(virtual_rows, list, number);
  }

  void sort_virtual_rows(std::int64_t virtual_rows, const virtual_row_list<Offset>& list,
                         const index* number) {
    auto key = temporary<std::uint32_t>(virtual_rows), sorted_key = temporary<std::uint32_t>(virtual_rows);
    auto in_order = temporary<index>(virtual_rows), sorted = temporary<index>(virtual_rows);
    auto kinds = temporary<unsigned char>(virtual_rows);
    launch_threads(queue_, "virtual_row_keys", virtual_rows * lanes_per_virtual_row,
                   virtual_row_keys_kernel<Value, Offset>, virtual_rows, list, a_.col.data(), a_.val.data(),
                   number, key.data(), in_order.data(), kinds.data());
    queue_.sort_pairs(key.data(), sorted_key.data(), in_order.data(), sorted.data(), virtual_rows,
                      std::bit_width(virtual_row_side * virtual_row_side));
    out_.target = room<index>(virtual_rows);
    out_.hub_length = room<std::uint8_t>(virtual_rows);
    out_.rest_length = room<std::uint8_t>(virtual_rows);
    launch_threads(queue_, "place_virtual_rows", virtual_rows, place_virtual_rows_kernel<Offset>,
                   virtual_rows, sorted_key.data(), sorted.data(), list, out_.target.data(),
                   out_.hub_length.data(), out_.rest_length.data());
    make_slices(list, sorted.data(), kinds.data(), number);
  }

  void make_slices(const virtual_row_list<Offset>& list, const index* sorted, const unsigned char* kinds,
                   const index* number) {
    const auto virtual_rows = static_cast<std::int64_t>(out_.target.size()),
               slices = (virtual_rows + 31) / 32;
    auto counts = temporary<std::int64_t>(slice_counts * (slices + 1));
    auto begin = temporary<std::int64_t>(slice_counts * (slices + 1));
    out_.slices = room<hubs_slice<Offset>>(slices);
    launch_threads(queue_, "fill", slice_counts * (slices + 1), fill_kernel<std::int64_t>,
                   slice_counts * (slices + 1), 0, counts.data());
    launch_threads(queue_, "choose_slices", slices * 32, choose_slices_kernel<Value, Offset>, slices,
                   virtual_rows, out_.dictionary.size() > 0, sorted, list, kinds, a_.val.data(),
                   out_.hub_length.data(), out_.rest_length.data(), out_.slices.data(), counts.data());
    queue_.exclusive_sum(counts.data(), counts.data(), slice_counts * (slices + 1));
    launch_threads(queue_, "begin_counts", slice_counts * (slices + 1), begin_counts_kernel<std::int64_t>,
                   slices, counts.data(), begin.data());
    make_room(begin.data() + slices, slices + 1);
    const filled_hubs<Value> filled{out_.hub_number.data(),   out_.rest_col.data(),
                                    out_.constant.data(),     out_.coded_value.data(),
                                    out_.single_value.data(), out_.full_value.data()};
    launch_threads(queue_, "fill_virtual_rows", slices * 32, fill_virtual_rows_kernel<Value, Offset>, slices,
                   virtual_rows, sorted, list, a_.col.data(), a_.val.data(), number, out_.hub_length.data(),
                   out_.rest_length.data(), begin.data(), out_.dictionary.data(),
                   static_cast<int>(out_.dictionary.size()), out_.slices.data(), filled);
  }

  /// `total`: the sum of the first section; those of the others follow, `section` numbers from each other.
  void make_room(const std::int64_t* total, std::int64_t section) {
    const auto [hub_steps, rest_steps, ones, coded, singles, fulls, padding] =
        queue_.read(total, total + section, total + 2 * section, total + 3 * section, total + 4 * section,
                    total + 5 * section, total + 6 * section);
    out_.padding_bytes = static_cast<std::uint64_t>(padding);
    const auto bytes = [](std::int64_t count, std::size_t size) {
      return static_cast<std::uint64_t>(count) * size;
    };
    const std::uint64_t entries = bytes(hub_steps, 64) + bytes(rest_steps, 128) + bytes(ones, sizeof(Value)) +
                                  bytes(coded, 32) + bytes(singles, 128) + bytes(fulls, 32 * sizeof(Value));
    const std::uint64_t csr_bytes =
        bytes(std::int64_t{a_.rows} + 1, sizeof(offset)) + bytes(a_.nnz(), sizeof(index) + sizeof(Value));
    require_within_budget("hubs", {out_.storage().bytes + entries, out_.padding_bytes}, {csr_bytes, 0},
                          options_.budget);
    out_.hub_number = room<std::uint16_t>(hub_steps * 32);
    out_.rest_col = room<index>(rest_steps * 32);
    out_.constant = room<Value>(ones);
    out_.coded_value = room<std::uint8_t>(coded * 32);
    out_.single_value = room<float>(singles * 32);
    out_.full_value = room<Value>(fulls * 32);
  }

  Queue& queue_;
  csr_view<Value, Offset> a_;
  const prepare_options& options_;
  Matrix& out_;
};

/// What a multiply reads of a device_hubs: arrays of hubs<Value>.
template <class Value, class Offset> struct hubs_view {
  int hubs, coded;  // how many, and how long the dictionary is
  std::int64_t slices, virtual_rows;
  const hubs_slice<Offset>* slice;
  const index* target;
  const std::uint8_t *hub_length, *rest_length;
  const std::uint16_t* hub_number;
  const index* rest_col;
  const Value *constant, *dictionary;
  const std::uint8_t* coded_value;
  const float* single_value;
  const Value* full_value;
};

/// hubs<Value> in a device's memory; x, y and the sums are of type V.
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
  scratch_array<V> hub_x, segment_sum;
  offset segments = 0;
  std::uint64_t padding_bytes = 0;

  template <class Queue>
  device_hubs(Queue& queue, const std::shared_ptr<const device_csr<Value>>& a,
              const prepare_options& options) {
    hubs_maker<Queue, device_hubs, Value, Offset>(queue, a->template view<Offset>(), options, *this)
        .make(room_for_hubs<V>(queue, a->nnz));
  }
  void reserve(scratch_layout& layout) {
    hub_x = layout.add<V>(static_cast<std::int64_t>(hub.size()));
    segment_sum = layout.add<V>(segments);
  }
  hubs_view<Value, Offset> view() const {
    const auto count = [](const auto& values) { return static_cast<std::int64_t>(values.size()); };
    return {static_cast<int>(hub.size()),
            static_cast<int>(dictionary.size()),
            count(slices),
            count(target),
            slices.data(),
            target.data(),
            hub_length.data(),
            rest_length.data(),
            hub_number.data(),
            rest_col.data(),
            constant.data(),
            dictionary.data(),
            coded_value.data(),
            single_value.data(),
            full_value.data()};
  }
  std::string encodings() const {
    return std::to_string(hub.size()) + " columns are hubs; " + std::to_string(split_row.size()) +
           " rows are split; values take " + format_bytes(coded_value.bytes()) + " as codes, " +
           format_bytes(single_value.bytes()) + " in single precision and " +
           format_bytes(full_value.bytes()) + " as they are; " + std::to_string(constant.size()) + " of " +
           std::to_string(slices.size()) + " slices have one value";
  }
  footprint storage() const {
    return {bytes_of(hub, split_row, segment_begin, target, hub_length, rest_length, slices, hub_number,
                     rest_col, constant, dictionary, coded_value, single_value, full_value),
            padding_bytes};
  }
};

}  // namespace nz::gpu
