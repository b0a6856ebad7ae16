#include <vector>

#include <nonzero/cpu/kernels.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/multiply.hpp>

namespace nz {
namespace {

/// A kernel of reference/: a format and its serial multiply.
template <class V, class Format> class serial final : public prepared_matrix<V> {
 public:
  serial(index rows, index cols, Format a) : prepared_matrix<V>(rows, cols, cpu_device()), a_(std::move(a)) {}
  footprint storage() const override { return footprint_of(a_); }

 private:
  void run(V alpha, const V* x, V beta, V* y, stream) const override {
    reference::multiply<V>(alpha, a_, {x, static_cast<std::size_t>(this->cols())}, beta,
                           {y, static_cast<std::size_t>(this->rows())});
  }

  Format a_;
};

/// Turns a conversion, called with a CSR matrix and a budget, into a table's prepare function.
template <class V, auto Convert>
std::unique_ptr<prepared_matrix<V>> prepare_serial(csr_view<V> a, const prepare_options& options) {
  device_for(device_kind::cpu, options, cpu_device);  // refuses another
  auto converted = Convert(a, options.budget);
  return std::make_unique<serial<V, decltype(converted)>>(a.rows, a.cols, std::move(converted));
}

template <auto Convert> kernel_row serial_row(std::string_view name, std::string_view format) {
  kernel_row out{.name = name, .format = format, .summary = "one thread, row by row: the reference"};
#define NONZERO_PREPARE(V) \
  static_cast<prepare_functions<V, V>&>(out.functions).host = prepare_serial<V, Convert>;
  NONZERO_FOR_EACH_VALUE(NONZERO_PREPARE)
#undef NONZERO_PREPARE
  return out;
}

constexpr auto as_csr = [](const auto& a, padding_budget) { return copy_of(a); };
constexpr auto as_coo = [](const auto& a, padding_budget) { return to_coo(a); };
constexpr auto as_ell = [](const auto& a, padding_budget budget) { return to_ell(a, budget); };
constexpr auto as_hyb = [](const auto& a, padding_budget budget) { return to_hyb(a, -1, budget); };
constexpr auto as_jds = [](const auto& a, padding_budget) { return to_jds(a); };
constexpr auto as_sell = [](const auto& a, padding_budget budget) { return to_sell(a, {}, budget); };
constexpr auto as_tjds = [](const auto& a, padding_budget) { return to_tjds(a); };
constexpr auto as_bsr = [](const auto& a, padding_budget) { return to_bsr(a); };
constexpr auto as_sbsr = [](const auto& a, padding_budget) { return to_sbsr(a); };
constexpr auto as_binned = [](const auto& a, padding_budget) { return to_binned(a); };
constexpr auto as_hubs = [](const auto& a, padding_budget budget) { return to_hubs(a, {}, budget); };
constexpr auto as_warp_packed = [](const auto& a, padding_budget budget) {
  return to_warp_packed(a, budget);
};
constexpr auto as_packed = [](const auto& a, padding_budget) { return to_packed(a); };

const kernel_row serial_rows[] = {
    serial_row<as_csr>("csr_serial", "csr"),
    serial_row<as_coo>("coo_serial", "coo"),
    serial_row<as_ell>("ell_serial", "ell"),
    serial_row<as_hyb>("hyb_serial", "hyb"),
    serial_row<as_jds>("jds_serial", "jds"),
    serial_row<as_tjds>("tjds_serial", "tjds"),
    serial_row<as_bsr>("bsr_serial", "bsr"),
    serial_row<as_sell>("sell_serial", "sell"),
    serial_row<as_packed>("packed_serial", "packed"),
    serial_row<as_binned>("binned_serial", "binned"),
    serial_row<as_sbsr>("sbsr_serial", "sbsr"),
    serial_row<as_warp_packed>("warp_packed_serial", "warp_packed"),
    serial_row<as_hubs>("hubs_serial", "hubs"),
};

template <auto Footprint> constexpr format_row row(std::string_view name, std::string_view summary) {
  return {name, summary, [](csr_view<float> a) { return Footprint(a); },
          [](csr_view<double> a) { return Footprint(a); }};
}

constexpr format_row format_table[] = {
    row<[](const auto& a) { return footprint_of(a); }>("csr",
                                                       "compressed sparse rows: each row's entries together"),
    row<[](const auto& a) { return coo_footprint(a); }>("coo",
                                                        "coordinates: row, column and value of each entry"),
    row<[](const auto& a) { return ell_footprint(a); }>(
        "ell", "every row padded to the longest, stored column by column"),
    row<[](const auto& a) { return hyb_footprint(a); }>(
        "hyb", "ell for the first entries of each row, coo for the rest"),
    row<[](const auto& a) { return jds_footprint(a); }>("jds",
                                                        "csr with the rows sorted by length, longest first"),
    row<[](const auto& a) { return tjds_footprint(a); }>("tjds", "jds stored column by column: no padding"),
    row<[](const auto& a) { return packed_footprint(a); }>(
        "packed", "slices of rows in the fewest bytes that lose nothing: repeated patterns once"),
    row<[](const auto& a) { return binned_footprint(a); }>(
        "binned", "entries by blocks of columns and bins of rows, for x gathered from all over"),
    row<[](const auto& a) { return sell_footprint(a); }>(
        "sell", "slices of eight rows sorted nearby, each padded to its longest"),
    row<[](const auto& a) { return bsr_footprint(a); }>(
        "bsr", "small dense blocks with one column each, csr for the rest"),
    row<[](const auto& a) { return sbsr_footprint(a); }>(
        "sbsr", "small dense blocks of a symmetric matrix, one triangle of them"),
    row<[](const auto& a) { return warp_packed_footprint(a); }>(
        "warp_packed", "slices of 32 rows, a row per GPU lane: repeated patterns once, exact short values"),
    row<[](const auto& a) { return hubs_footprint(a); }>(
        "hubs", "segments of rows by GPU lanes, the columns used most by short numbers, exact short values"),
};

}  // namespace

std::span<const format_row> formats() { return format_table; }

std::span<const kernel_row> kernels() {
  // The CPU's, then the card's, then the emulator's: the order in which find_kernel prefers them.
  static const auto table = join({cpu_kernels(), serial_rows, cuda_kernels(), emulator_kernels()});
  return table;
}

}  // namespace nz
