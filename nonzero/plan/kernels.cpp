#include <iterator>
#include <vector>

#include <nonzero/plan/back_ends.hpp>
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

template <auto Footprint> format_row make_format(std::string_view name, std::string_view summary) {
  format_row out{.name = name, .summary = summary, .footprints = {}};
#define NONZERO_FOOTPRINT(V) \
  static_cast<footprint_function<V>&>(out.footprints).find = [](csr_view<V> a) { return Footprint(a); };
  NONZERO_FOR_EACH_VALUE(NONZERO_FOOTPRINT)
#undef NONZERO_FOOTPRINT
  return out;
}

template <class V> footprint csr_footprint(csr_view<V> a) { return footprint_of(a); }

/// Not a global: a static object of the program may ask for kernels before globals of this file exist.
std::span<const kernel_row> serial_kernels() {
  static const kernel_row rows[] = {
#define NONZERO_FORMAT(name, summary, convert)                                            \
  serial_row<[]([[maybe_unused]] const auto& a, [[maybe_unused]] padding_budget budget) { \
    return convert;                                                                       \
  }>(#name "_serial", #name),
#include <nonzero/formats/formats.def>
#undef NONZERO_FORMAT
  };
  return rows;
}

}  // namespace

std::span<const format_row> formats() {
  static const format_row table[] = {
#define NONZERO_FORMAT(name, summary, convert) \
  make_format<[](const auto& a) { return name##_footprint(a); }>(#name, summary),
#include <nonzero/formats/formats.def>
#undef NONZERO_FORMAT
  };
  return table;
}

std::span<const kernel_row> kernels() {
  // In the order in which find_kernel prefers them. The references come right behind the CPU's.
  static const std::vector<kernel_row> table = [] {
    std::vector<kernel_row> all;
    for (const back_end* each : back_ends()) {
      all.insert(all.end(), each->kernels().begin(), each->kernels().end());
      if (each->kind == device_kind::cpu)
        all.insert(all.end(), std::begin(serial_kernels()), std::end(serial_kernels()));
    }
    return all;
  }();
  return table;
}

}  // namespace nz
