// Any bytes make the arrays of a C++ caller, valid or broken, and a call of the public API with them: an
// invalid matrix throws shape_error, and a valid one gives what it should.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fuzz/checks.hpp>
#include <unistd.h>

#include <nonzero/nonzero.hpp>
#include <nonzero/reference/exact.hpp>

namespace fuzz {
namespace {

using nz::csr_view;

constexpr index most_length = 4096;  // of a valid matrix, however many rows or columns it may have

class bytes_given {
 public:
  bytes_given(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), end_(bytes + size) {}
  unsigned byte() { return bytes_ == end_ ? 0 : *bytes_++; }
  bool flag() { return byte() % 2 != 0; }
  index below(unsigned limit) { return static_cast<index>(byte() % limit); }

  /// Near `before`, negative or huge.
  template <class T> T hostile(T before) {
    using limits = std::numeric_limits<T>;
    const unsigned which = byte() % 12;
    const T known[] = {T{0}, T{-1}, limits::min(), limits::max(), static_cast<T>(limits::max() / 2)};
    if (which < std::size(known)) return known[which];
    const auto step = static_cast<T>(byte() % 8);
    return which % 2 == 0 && before < limits::max() - 8   ? static_cast<T>(before + step)
           : which % 2 != 0 && before > limits::min() + 8 ? static_cast<T>(before - step)
                                                          : static_cast<T>(byte());
  }
  double value() {
    constexpr double odd[] = {0.0, -0.0, 1e-300, 1e30, 0.1, std::numeric_limits<double>::infinity()};
    const unsigned which = byte();
    return which >= 250 ? odd[which - 250] : (static_cast<double>(which) - 120) / 8;
  }

 private:
  const std::uint8_t *bytes_, *end_;
};

/// The arrays of a caller: vectors of their exact lengths, so that AddressSanitizer sees what reads past
/// them.
struct arrays {
  index rows = 0, cols = 0;
  std::vector<offset> row_begin = {0};
  std::vector<std::int32_t> narrow;  // row_begin, if it fits
  std::vector<index> col;
  std::vector<double> val;

  csr_view<double> view() const { return {rows, cols, row_begin, col, val}; }
  csr_view<double, std::int32_t> narrow_view() const { return {rows, cols, narrow, col, val}; }
  csr<double> owner() const {
    return {
        rows, cols, {row_begin.begin(), row_begin.end()}, {col.begin(), col.end()}, {val.begin(), val.end()}};
  }

  /// The invariants of CSR, one by one.
  bool are_valid() const {
    if (rows < 0 || cols < 0 || row_begin.size() != static_cast<std::size_t>(rows) + 1) return false;
    if (row_begin.front() != 0 || row_begin.back() != static_cast<offset>(col.size())) return false;
    for (std::size_t i = 0; i + 1 < row_begin.size(); ++i)
      if (row_begin[i] > row_begin[i + 1]) return false;
    for (const index j : col)
      if (j < 0 || j >= cols) return false;
    return val.size() == col.size();
  }
};

arrays make_valid(bytes_given& from) {
  arrays a;
  a.rows = from.below(24);
  a.cols = from.flag() ? a.rows : from.below(24);
  for (index i = 0; i < a.rows; ++i) {
    for (unsigned left = a.cols == 0 ? 0 : from.byte() % 6; left > 0; --left) {
      a.col.push_back(from.below(static_cast<unsigned>(a.cols)));
      a.val.push_back(from.value());
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

/// A symmetric matrix with a large diagonal, for conjugate gradients: tridiagonal.
arrays make_positive(bytes_given& from) {
  arrays a;
  a.rows = a.cols = from.below(24);
  const double beside = (static_cast<double>(from.byte()) - 128) / 64;
  for (index i = 0; i < a.rows; ++i) {
    for (index j = std::max(i - 1, 0); j < std::min(i + 2, a.cols); ++j) {
      a.col.push_back(j);
      a.val.push_back(i == j ? 4.5 : beside);
    }
    a.row_begin.push_back(static_cast<offset>(a.col.size()));
  }
  return a;
}

template <class T> void spoil_one(bytes_given& from, T& numbers) {
  if (numbers.empty()) return;
  auto& number = numbers[from.byte() % numbers.size()];
  number = from.hostile(number);
}

/// Changes one number, or a length.
void spoil(bytes_given& from, arrays& a) {
  switch (from.byte() % 9) {
    case 0:
      a.rows = from.hostile(a.rows);
      break;
    case 1:
      a.cols = from.hostile(a.cols);
      break;
    case 2:
      a.row_begin.resize(from.byte() % 40);
      break;
    case 3:
      a.col.resize(from.byte() % 40);
      break;
    case 4:
      a.val.resize(from.byte() % 40);
      break;
    case 5:
    case 6:
      spoil_one(from, a.row_begin);
      break;
    default:
      spoil_one(from, a.col);
  }
}

arrays make_arrays(bytes_given& from) {
  arrays a = from.flag() ? make_valid(from) : make_positive(from);
  for (unsigned times = from.byte() % 4; times > 1; --times) spoil(from, a);
  if (a.are_valid()) a.cols = std::min(a.cols, most_length);  // x must fit into memory
  a.row_begin.shrink_to_fit();
  a.col.shrink_to_fit();
  a.val.shrink_to_fit();
  for (const offset begin : a.row_begin)
    a.narrow.push_back(static_cast<std::int32_t>(std::clamp<offset>(
        begin, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max())));
  a.narrow.shrink_to_fit();
  return a;
}

/// Calls `body`. A matrix that is not valid must throw shape_error; a valid one may be refused for other
/// reasons. Returns whether the call was done.
template <class Body> bool call(bool is_valid, const Body& body) {
  try {
    body();
  } catch (const nz::shape_error&) {
    require(!is_valid);
    return false;
  } catch (const nz::unsupported&) {
    require(is_valid);
    return false;
  }
  require(is_valid);
  return true;
}

bool is_same(const csr<double>& a, const csr<double>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_begin == b.row_begin && a.col == b.col &&
         have_same_bits(a.val, b.val);
}

/// y = A x by `multiply`, within the error bound; then with vectors that do not fit.
template <class Multiply> void require_product(const arrays& a, const Multiply& multiply) {
  std::vector<double> x(static_cast<std::size_t>(a.cols)), y(static_cast<std::size_t>(a.rows));
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<double>(j % 7) - 2.5;
  multiply(std::span<const double>(x), std::span<double>(y));
  const auto exact = nz::reference::multiply_exactly<double>(1, nz::trusted(a.view()), x, 0, y);
  require(nz::reference::largest_error<double>(exact, y) <= 1);
  const auto require_refused = [&](std::span<const double> from, std::span<double> to) {
    call(false, [&] { multiply(from, to); });
  };
  std::vector<double> longer(x.size() + y.size() + 1);
  require_refused(longer, y);
  require_refused(x, longer);
  if (!x.empty() && !y.empty()) {
    require_refused(std::span(longer).first(x.size()), std::span(longer).first(y.size()));
    require_refused({static_cast<const double*>(nullptr), x.size()}, y);
  }
}

nz::plan_options plan_options_for(bytes_given& from) {
  nz::plan_options options;
  options.expected_multiplies = static_cast<std::int64_t>(from.byte()) - 2;
  options.are_steps = from.flag();
  options.deterministic = from.flag();
  options.may_reorder = from.flag();
  const auto targets = nz::simd_targets();
  if (from.flag()) options.simd = targets[from.byte() % targets.size()];
  const unsigned where = from.byte() % 8;
  if (where == 0) options.on = nz::find_device("emulator");
  if (where == 1) options.memory_budget = static_cast<double>(from.byte()) * 16;
  const auto kernels = nz::kernels();
  const nz::kernel_row& kernel = kernels[from.byte() % kernels.size()];
  const bool runs_there = kernel.runs_on == (options.on ? nz::device_kind::emulator : nz::device_kind::cpu);
  if (from.flag() && runs_there) options.kernel = kernel.name;
  return options;
}

void try_plan(bytes_given& from, const arrays& a, bool is_valid) {
  const nz::plan_options options = plan_options_for(from);
  const unsigned how = from.byte() % 4;
  std::optional<nz::plan<double>> made;
  if (call(is_valid, [&] {
        made = how == 0   ? nz::make_plan(a.owner(), options)
               : how == 1 ? nz::make_plan(a.narrow_view(), options)
                          : nz::make_plan(a.view(), options);
      })) {
    require(!made->explain().empty());
    require_product(a, [&](auto x, auto y) { made->multiply(x, y); });
  }
}

void try_kernel(bytes_given& from, const arrays& a, bool is_valid) {
  const auto kernels = nz::kernels();
  const nz::kernel_row& kernel = kernels[from.byte() % kernels.size()];
  if (kernel.runs_on == nz::device_kind::cuda) return;
  std::unique_ptr<nz::prepared_matrix<double>> ready;
  const unsigned how = from.byte() % 3;
  if (call(is_valid, [&] {
        ready = how == 0   ? kernel.prepare(a.owner())
                : how == 1 ? kernel.prepare(a.narrow_view())
                           : kernel.prepare(a.view());
      }))
    require_product(a, [&](auto x, auto y) { ready->multiply(1, x, 0, y); });
}

void try_device(bytes_given& from, const arrays& a, bool is_valid) {
  const auto on = from.flag() ? nz::cpu_device() : nz::find_device("emulator");
  const unsigned how = from.byte() % 3;
  std::shared_ptr<const nz::device_csr<double>> there;
  if (!call(is_valid, [&] {
        there = how == 0   ? nz::place_csr(a.view(), on, from.flag())
                : how == 1 ? nz::borrow_csr(a.narrow_view(), on)
                           : nz::borrow_csr(a.view(), on);
      }))
    return;
  require(is_same(to_host(*there), a.owner()));
  const auto made = nz::make_plan(there);
  require_product(a, [&](auto x, auto y) { made.multiply(x, y); });
}

/// There and back, where each row keeps its order.
template <class Convert> void try_format(const arrays& a, bool is_valid, const Convert& convert) {
  call(is_valid, [&] {
    const auto there = convert(a.view());
    validate(there);
    require(is_same(to_csr(there), a.owner()));
  });
}

/// One hostile number in a format's arrays: it is refused, or does no harm.
template <class Format, class... Arrays>
void try_spoiled(bytes_given& from, Format there, Arrays Format::*... places) {
  unsigned which = from.byte() % (sizeof...(places) + 2);
  if (which == sizeof...(places)) {
    there.rows = from.hostile(there.rows);
  } else if (which > sizeof...(places)) {
    there.cols = from.hostile(there.cols);
  } else {
    (..., (which-- == 0 ? spoil_one(from, there.*places) : void()));
  }
  bool is_refused = false;
  try {
    validate(there);
  } catch (const nz::shape_error&) {
    is_refused = true;
  }
  if (!is_refused) there.rows = std::min(there.rows, most_length);  // to_csr makes a table of all rows
  footprint_of(there);
  call(!is_refused, [&] {
    for_each_entry(there, [&](index i, index j, double) {
      require(i >= 0 && i < there.rows && j >= 0 && j < there.cols);
    });
  });
  call(!is_refused, [&] { to_csr(there); });
}

void try_conversion(bytes_given& from, const arrays& a, bool is_valid) {
  constexpr nz::padding_budget any{std::numeric_limits<double>::infinity()};
  const nz::sell_options slices{from.below(9) - 1, from.below(40)};
  const nz::bsr_options blocks{.block_size = from.below(10), .min_fill = 0};
  const unsigned which = from.byte() % 10;
  switch (which) {
    case 0:
      return try_format(a, is_valid, [](auto view) { return to_coo(view); });
    case 1:
      return try_format(a, is_valid, [&](auto view) { return to_ell(view, any); });
    case 2:
      return try_format(a, is_valid, [&](auto view) { return to_hyb(view, from.below(5) - 1, any); });
    case 3:
      return try_format(a, is_valid, [](auto view) { return to_jds(view); });
    case 4:
      return try_format(a, is_valid, [](auto view) { return to_tjds(view); });
    case 5:
      if (slices.height >= 1 && slices.sigma >= 1)
        try_format(a, is_valid, [&](auto view) { return to_sell(view, slices, any); });
      return;
    case 6:
      call(is_valid, [&] { validate(to_bsr(a.view(), blocks)); });
      return;
    case 7:
      call(is_valid, [&] { validate(to_sbsr(a.view(), {.block_size = blocks.block_size})); });
      return;
    case 8:
      call(is_valid,
           [&] { require(is_same(transpose(transpose(transpose(a.view()))), transpose(a.view()))); });
      return;
    default:
      const auto formats = nz::formats();
      const nz::format_row& format = formats[1 + from.byte() % (formats.size() - 1)];
      call(is_valid, [&] { format.footprint_of(a.view()); });
  }
}

void try_spoiled_format(bytes_given& from, const arrays& a, bool is_valid) {
  if (!is_valid) return;
  constexpr nz::padding_budget any{std::numeric_limits<double>::infinity()};
  using namespace nz;
  using V = double;
  switch (from.byte() % 6) {
    case 0:
      return try_spoiled(from, to_coo(a.view()), &coo<V>::row, &coo<V>::col);
    case 1:
      return try_spoiled(from, to_ell(a.view(), any), &ell<V>::col);
    case 2:
      return try_spoiled(from, to_jds(a.view()), &jds<V>::row, &jds<V>::row_begin, &jds<V>::col);
    case 3:
      return try_spoiled(from, to_tjds(a.view()), &tjds<V>::row, &tjds<V>::diagonal_begin, &tjds<V>::col);
    case 4:
      return try_spoiled(from, to_sell(a.view(), {4, 8}, any), &sell<V>::window_begin, &sell<V>::row,
                         &sell<V>::slice_begin, &sell<V>::col);
    default:
      return try_spoiled(from, to_bsr(a.view(), {.block_size = 2, .min_fill = 0}), &bsr<V>::block_begin,
                         &bsr<V>::block_col);
  }
}

void try_pagerank(bytes_given& from, const arrays& a, bool is_valid) {
  nz::pagerank_options options;
  options.damping = static_cast<double>(from.byte()) / 200;  // some are above 1
  options.max_iterations = from.byte() % 20;
  options.sinks = static_cast<nz::sink_rule>(from.byte() % 3);
  options.is_weighted = from.flag();
  std::vector<double> jumps(from.flag() ? from.byte() % 30 : 0U, 1.0);
  options.personalization = jumps;
  if (from.flag()) options.is_renumbered = from.flag();
  if (from.flag()) options.is_merged = from.flag();
  if (from.byte() % 8 == 0) options.plan.on = nz::find_device("emulator");
  const bool is_square = a.rows == a.cols;
  try {
    const auto found = from.flag() ? nz::pagerank(a.view(), options) : nz::pagerank(a.narrow_view(), options);
    require(is_valid && is_square && found.rank.size() == static_cast<std::size_t>(a.rows));
    const double kept = options.sinks == nz::sink_rule::redistribute ? 1 : 0;
    double sum = 0;
    for (const double rank : found.rank) sum += rank;
    require(a.rows == 0 || (sum >= kept - 1e-9 && sum <= 1 + 1e-9));
  } catch (const nz::shape_error&) {
    require(!is_valid || !is_square || !jumps.empty());
  } catch (const nz::unsupported&) {  // weights, options
  }
}

void try_gradients(bytes_given& from, const arrays& a, bool is_valid) {
  nz::cg_options options;
  options.max_iterations = from.byte() % 40;
  options.tolerance = std::pow(10.0, -static_cast<double>(from.byte() % 14));
  options.by = from.flag() ? nz::preconditioner::jacobi : nz::preconditioner::none;
  options.method = from.flag() ? nz::cg_method::blas : nz::cg_method::fused;
  options.check_every = from.below(4);
  if (from.byte() % 8 == 0) options.plan.on = nz::find_device("emulator");
  const std::vector<double> b(from.byte() % 8 == 0 ? from.byte() : std::max(a.rows, 0) % most_length, 1.0);
  const bool fits = a.rows == a.cols && b.size() == static_cast<std::size_t>(a.rows);
  try {
    const auto found = from.flag() ? nz::conjugate_gradients<double>(a.view(), b, options)
                                   : nz::conjugate_gradients<double>(a.narrow_view(), b, options);
    require(is_valid && fits && found.x.size() == b.size());
    if (found.is_converged()) require(found.residual <= options.tolerance || b.empty());
  } catch (const nz::shape_error&) {
    require(!is_valid || !fits);
  } catch (const nz::unsupported&) {  // not symmetric, not finite
    require(is_valid);
  }
}

void try_writing(bytes_given& from, const arrays& a, bool is_valid) {
  const bool is_npz = from.flag();
  static const std::string start =
      (std::filesystem::temp_directory_path() / ("nonzero-fuzz-api-" + std::to_string(::getpid()))).native();
  const std::string path = start + (is_npz ? ".npz" : ".mtx");
  const bool is_written =
      call(is_valid, [&] { from.flag() ? nz::write(path, a.view()) : nz::write(path, a.narrow_view()); });
  require(is_written == std::filesystem::exists(path));
  if (!is_written) return;
  const csr<double> back = nz::read<double>(path);
  require(back.rows == a.rows && back.cols == a.cols && back.nnz() <= a.view().nnz());
  std::filesystem::remove(path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  bytes_given from(bytes, size);
  const unsigned what = from.byte() % 8;
  const arrays a = make_arrays(from);
  const bool is_valid = a.are_valid();
  call(is_valid, [&] { validate(a.view()); });
  call(is_valid, [&] { validate(a.narrow_view()); });
  switch (what) {
    case 0:
      try_plan(from, a, is_valid);
      break;
    case 1:
      try_kernel(from, a, is_valid);
      break;
    case 2:
      try_device(from, a, is_valid);
      break;
    case 3:
      try_conversion(from, a, is_valid);
      break;
    case 4:
      try_spoiled_format(from, a, is_valid);
      break;
    case 5:
      try_pagerank(from, a, is_valid);
      break;
    case 6:
      try_gradients(from, a, is_valid);
      break;
    default:
      try_writing(from, a, is_valid);
  }
  return 0;
}

}  // namespace fuzz
