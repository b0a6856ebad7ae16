#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/cpu/kernels.hpp>
#include <nonzero/formats/formats.hpp>
#include <nonzero/gpu/cuda/device.hpp>
#include <nonzero/gpu/emulator/device.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/kernels.hpp>
#include <nonzero/reference/multiply.hpp>

// The tables of back ends, formats and kernels, and what finds a kernel or a device by its name.
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
      NONZERO_FOR_EACH_FORMAT(NONZERO_FORMAT)
#undef NONZERO_FORMAT
  };
  return rows;
}

/// How many devices can be used; none where the driver fails: find_device reports why.
int usable_devices(const back_end& of) {
  try {
    return of.device_count();
  } catch (const device_error&) {
    return 0;
  }
}

struct device_name {
  device_kind kind;
  int number;
};

/// {cuda, 0} for "cuda", {cuda, 1} for "cuda:1"; none for what is no device's name. Only GPUs have numbers.
std::optional<device_name> parse_device(std::string_view name) {
  for (const device_kind kind : {device_kind::cpu, device_kind::emulator, device_kind::cuda})
    if (name == name_of(kind)) return device_name{kind, 0};
  constexpr std::string_view prefix = "cuda:";
  constexpr std::size_t most_digits = 4;
  if (!name.starts_with(prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.empty() || digits.size() > most_digits ||
      digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return device_name{device_kind::cuda, number};
}

template <class Accepts> std::string names_of(Accepts accepts) {
  std::vector<std::string_view> names;
  for (const kernel_row& kernel : kernels())
    if (accepts(kernel) && std::find(names.begin(), names.end(), kernel.name) == names.end())
      names.push_back(kernel.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::span<const back_end* const> back_ends() {
  static const std::vector<const back_end*> all = [] {
    std::vector<const back_end*> found{&cpu_back_end()};
    if (const back_end* cuda = cuda_back_end()) found.push_back(cuda);
    found.push_back(&emulator_back_end());
    return found;
  }();
  return all;
}

const back_end& back_end_for(device_kind kind) {
  for (const back_end* each : back_ends())
    if (each->kind == kind) return *each;
  throw unsupported(
      "this nonzero was built without CUDA: install the CUDA toolkit, so that CMake finds nvcc, and build "
      "again");
}

#ifndef NONZERO_HAS_CUDA
// The functions of gpu/cuda/device.hpp in a build without CUDA. back_end_for throws.
const back_end* cuda_back_end() { return nullptr; }
std::span<const kernel_row> cuda_kernels() { return {}; }
std::vector<cuda_properties> cuda_devices() { return {}; }
std::shared_ptr<device> cuda_device(int number) {
  return back_end_for(device_kind::cuda).find_device(number);
}
cuda_stream::cuda_stream(std::shared_ptr<device> on) : on_(std::move(on)) { back_end_for(device_kind::cuda); }
cuda_stream::~cuda_stream() = default;
#endif

std::span<const format_row> formats() {
  static const format_row table[] = {
#define NONZERO_FORMAT(name, summary, convert) \
  make_format<[](const auto& a) { return name##_footprint(a); }>(#name, summary),
      NONZERO_FOR_EACH_FORMAT(NONZERO_FORMAT)
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

const kernel_row& find_kernel(std::string_view name, device_kind runs_on) {
  const auto runs_there = [&](const kernel_row& kernel) { return kernel.runs_on == runs_on; };
  for (const kernel_row& kernel : kernels())
    if (kernel.name == name && runs_there(kernel)) return kernel;
  if (runs_on == device_kind::cuda) back_end_for(runs_on).find_device(0);  // throws where there is no GPU
  throw unsupported(fmt::format("there is no kernel '{}' for the device '{}'; there are {}", name,
                                name_of(runs_on), names_of(runs_there)));
}

const kernel_row& find_kernel(std::string_view name) {
  const kernel_row* found = nullptr;
  for (const kernel_row& kernel : kernels()) {
    if (kernel.name != name) continue;
    found = &kernel;
    if (usable_devices(back_end_for(kernel.runs_on)) > 0) return kernel;
  }
  if (found != nullptr) return *found;  // it runs on a GPU only, and there is none
  throw unsupported(fmt::format("there is no kernel '{}'; there are {}", name,
                                names_of([](const kernel_row&) { return true; })));
}

std::vector<std::shared_ptr<device>> devices() {
  std::vector<std::shared_ptr<device>> all;
  for (const back_end* each : back_ends())
    for (int number = 0, count = usable_devices(*each); number < count; ++number)
      all.push_back(each->find_device(number));
  return all;
}

bool is_device_name(std::string_view name) { return parse_device(name).has_value(); }

std::shared_ptr<device> find_device(std::string_view name) {
  if (const auto found = parse_device(name)) return back_end_for(found->kind).find_device(found->number);
  throw unsupported(
      fmt::format("there is no device '{}'; a device is cpu, cuda (or cuda:1, …) or emulator", name));
}

}  // namespace nz
