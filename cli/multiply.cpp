#include <chrono>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/plan/plan.hpp>

#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

constexpr std::size_t entries_shown = 8;

struct multiply_options {
  matrix_argument matrix;
  std::string x, y, out;  // files; empty: not given
  std::string kernel;     // empty: the plan's choice
  std::string device;     // empty: chosen
  std::string simd;       // empty: the best
  double alpha = 1, beta = 0;
  padding_budget budget;
  bool as_json = false, is_verbose = false;
};

struct vector_summary {
  double sum = 0, norm_1 = 0, norm_2 = 0, norm_max = 0;
};

template <class V> vector_summary summarize(std::span<const V> x) {
  vector_summary out;
  for (const V value : x) {
    const double size = std::abs(static_cast<double>(value));
    out.sum += static_cast<double>(value);
    out.norm_1 += size;
    out.norm_2 = std::hypot(out.norm_2, size);  // the square of a large entry would overflow
    if (!(size <= out.norm_max) && !std::isnan(out.norm_max)) out.norm_max = size;  // keeps a NaN
  }
  return out;
}

void require_valid(const multiply_options& options) {
  if (options.beta != 0 && options.y.empty())
    throw usage_error("multiply: --beta needs the vector that it multiplies: give --y FILE");
  if (options.beta == 0 && !options.y.empty())
    throw usage_error("multiply: --y has no effect, as --beta is 0, which it is unless given");
  require_vector_output(options.out);
  require_one_output("multiply", options.out, options.as_json);
  if ((options.matrix.name == "-") + (options.x == "-") + (options.y == "-") > 1)
    throw usage_error("multiply: only one of the matrix and the vectors can come from standard input");
}

/// "y = 2 A x - 0.5 y".
std::string formula(const multiply_options& options) {
  std::string out = "y = ";
  if (options.alpha != 1) out += fmt::format("{:g} ", options.alpha);
  out += "A x";
  if (options.beta != 0)
    out += fmt::format(" {} {:g} y", options.beta < 0 ? '-' : '+', std::abs(options.beta));
  return out;
}

/// " on cuda"; empty for the CPU.
std::string place_text(const kernel_row& kernel) {
  return kernel.runs_on == device_kind::cpu ? "" : fmt::format(" on {}", name_of(kernel.runs_on));
}

/// The matrix prepared for a kernel: the one that was asked for, or the choice of a plan for one multiply.
template <class V> struct prepared_product {
  const kernel_row* kernel;
  std::shared_ptr<const prepared_matrix<V>> matrix;
};

template <class V>
prepared_product<V> prepare(const csr<V>& a, const multiply_options& options,
                            const std::shared_ptr<device>& on) {
  if (!options.kernel.empty()) {
    const kernel_row& kernel = find_named_kernel(options.kernel, on->kind());
    return {&kernel, kernel.prepare(
                         a, {.budget = options.budget, .on = on, .simd = options.simd, .is_trusted = true})};
  }
  const auto made = std::make_shared<const plan<V>>(
      make_plan(trusted(csr_view<V>(a)), {.on = on, .expected_multiplies = 1, .simd = options.simd}));
  return {&find_kernel(made->kernel(), on->kind()),
          std::shared_ptr<const prepared_matrix<V>>(made, &made->prepared())};
}

template <class V>
void print_summary(const multiply_options& options, const kernel_row& kernel, const csr<V>& a,
                   std::span<const V> y) {
  const vector_summary s = summarize(y);
  const auto first = y.first(std::min(y.size(), entries_shown));
  if (options.as_json)
    return print_json(
        joined(matrix_json(options.matrix.name, options.matrix.precision, "", a.rows, a.cols, a.nnz()),
               {{"kernel", kernel.name},
                {"device", name_of(kernel.runs_on)},
                {"alpha", options.alpha},
                {"beta", options.beta},
                {"x", options.x.empty() ? "ones" : options.x},
                {"sum", s.sum},
                {"norm_1", s.norm_1},
                {"norm_2", s.norm_2},
                {"norm_max", s.norm_max},
                {"first", std::vector<V>(first.begin(), first.end())}}));
  print(fmt::format("{}  {} of {}, {}; x {}; {}{}\n", formula(options), options.matrix.name,
                    shape_text(a.rows, a.cols), counted(a.nnz(), "entry"),
                    options.x.empty() ? "all ones" : options.x, kernel.name, place_text(kernel)));
  print(fmt::format("  sum       {:.10g}\n  |y|_1     {:.10g}\n  |y|_2     {:.10g}\n  |y|_max   {:.10g}\n",
                    s.sum, s.norm_1, s.norm_2, s.norm_max));
  print(fmt::format("  y         {:.6g}{}\n", fmt::join(first, "  "), y.size() > entries_shown ? "  …" : ""));
}

template <class V> void run_in(const multiply_options& options, const std::shared_ptr<device>& on) {
  using clock = std::chrono::steady_clock;
  const csr<V> a = load_matrix<V>(options.matrix.name);
  const std::vector<V> x = read_vector_or<V>(options.x, "x", a.cols, 1);
  std::vector<V> y = read_vector_or<V>(options.y, "y", a.rows, 0);
  const auto start = clock::now();
  const auto [chosen, prepared] = prepare(a, options, on);
  const kernel_row& kernel = *chosen;
  const auto ready = clock::now();
  prepared->multiply(static_cast<V>(options.alpha), x, static_cast<V>(options.beta), y);
  const std::chrono::duration<double, std::milli> converting = ready - start,
                                                  multiplying = clock::now() - ready;
  if (options.is_verbose)
    std::fputs(fmt::format("nz: {}{} ({}): {}, converted in {:.3g} ms, multiplied in {:.3g} ms\n",
                           kernel.name, place_text(kernel), kernel.format,
                           format_bytes(prepared->storage().bytes), converting.count(), multiplying.count())
                   .c_str(),
               stderr);
  if (!options.out.empty()) write_vector_file<V>(options.out, y);
  if (options.out.empty() || options.as_json) print_summary<V>(options, kernel, a, y);
}

void run(const multiply_options& options) {
  require_valid(options);
  // An instruction set is one of the CPU.
  const auto on = options.device.empty() && !options.simd.empty() && options.kernel.empty()
                      ? cpu_device()
                      : choose_device(options.device, options.kernel);
  require_kernel(options.kernel, on->kind(), false);
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options, on); });
}

}  // namespace

void set_up_multiply(command& c) {
  auto& options = c.runs(run);
  options.matrix.add_to(c);
  c.file("--x", options.x, fmt::format("Vector to multiply by, {} (all ones)", vector_files));
  c.file("-o,--out", options.out,
         "Write y to this .mtx, .npy, .npz or .txt file (- for standard output) instead of a summary");
  c.number("--alpha", options.alpha, "NUMBER", {-largest_number, largest_number}, "Factor of A x (1)");
  c.number("--beta", options.beta, "NUMBER", {-largest_number, largest_number},
           "Factor of the old y; needs --y (0)");
  c.file("--y", options.y, fmt::format("The old y, {}", vector_files));
  c.kernel(options.kernel);
  c.device(options.device);
  c.simd(options.simd);
  c.budget(options.budget);
  c.flag("--json", options.as_json, "Print the summary as JSON");
  c.flag("-v,--verbose", options.is_verbose, "Print the kernel and its times on standard error");
  c.footer(R"(Examples:
  nz multiply web.mtx                                       row sums: x is all ones
  nz multiply web.mtx --x x.mtx -o y.mtx                    y = A x, written as a vector
  nz multiply web.mtx --alpha 2 --beta -1 --y y.mtx -o -    y = 2 A x - y, to standard output
  nz multiply web.mtx --kernel csr_serial                   by the reference: one thread, CSR
  nz multiply poisson2d:300 --kernel ell_serial -v
  nz multiply poisson2d:300 --kernel csr_vector --device emulator
  nz multiply web.mtx --json | jq .norm_2)");
}

}  // namespace nz::cli
