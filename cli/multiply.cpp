#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/io/matrix_market.hpp>
#include <nonzero/plan/kernels.hpp>

#include "commands.hpp"
#include "device_option.hpp"
#include "failures.hpp"
#include "format_cost.hpp"
#include "matrix_argument.hpp"
#include "output.hpp"
#include "simd_option.hpp"

namespace nz::cli {
namespace {

constexpr std::size_t entries_shown = 8;

struct multiply_options {
  matrix_argument matrix;
  std::string x, y, out;  // files; empty: not given
  std::string kernel = "csr_serial";
  std::string device;  // empty: where the kernel runs best
  std::string simd;    // empty: the best
  double alpha = 1, beta = 0;
  padding_budget budget;
  bool json = false, verbose = false;
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
    out.norm_2 = std::hypot(out.norm_2, size);  // squares of large entries would overflow
    // Written so that a NaN is kept.
    out.norm_max = size <= out.norm_max ? out.norm_max : size;
  }
  return out;
}

/// The vector in a file, or `length` times `otherwise` where no file is given.
template <class V>
std::vector<V> vector_from(const std::string& name, const char* role, index length, V otherwise) {
  if (name.empty()) return std::vector<V>(static_cast<std::size_t>(length), otherwise);
  std::vector<V> out = read_vector<V>(input_path(name));
  if (out.size() != static_cast<std::size_t>(length))
    throw shape_error(fmt::format("{}: {} must have {} entries to fit the matrix, this has {}", name, role,
                                  length, out.size()));
  return out;
}

const kernel_row& chosen_kernel(const multiply_options& options) {
  const auto on = options.device.empty() ? nullptr : find_device(options.device);
  try {
    return on ? find_kernel(options.kernel, on->kind()) : find_kernel(options.kernel);
  } catch (const unsupported& e) {
    throw usage_error(e.what());
  }
}

void require_sense(const multiply_options& options) {
  if (options.beta != 0 && options.y.empty())
    throw usage_error("multiply: --beta needs the vector it multiplies: give --y FILE");
  if (options.beta == 0 && !options.y.empty())
    throw usage_error("multiply: --y has no effect without --beta");
  if (!std::isfinite(options.alpha) || !std::isfinite(options.beta))
    throw usage_error("multiply: --alpha and --beta must be finite");
  if (!options.out.empty() && options.out != "-" && std::filesystem::path(options.out).extension() != ".mtx")
    throw usage_error(fmt::format("{}: a vector is written as .mtx; name it so", options.out));
  if (options.out == "-" && options.json)
    throw usage_error("multiply: -o - and --json both write to standard output");
  const auto is_stdin = [](const std::string& name) { return name == "-"; };
  if (is_stdin(options.matrix.name) + is_stdin(options.x) + is_stdin(options.y) > 1)
    throw usage_error("multiply: only one of the matrix and the vectors can come from standard input");
}

/// What was computed: "y = 2 A x - 0.5 y".
std::string formula(const multiply_options& options) {
  std::string out = "y = ";
  if (options.alpha != 1) out += fmt::format("{:g} ", options.alpha);
  out += "A x";
  if (options.beta != 0)
    out += fmt::format(" {} {:g} y", options.beta < 0 ? '-' : '+', std::abs(options.beta));
  return out;
}

/// " on cuda"; nothing for the CPU, where everything else runs too.
std::string place_text(const kernel_row& kernel) {
  return kernel.runs_on == device_kind::cpu ? "" : fmt::format(" on {}", name_of(kernel.runs_on));
}

template <class V>
void print_summary(const multiply_options& options, const kernel_row& kernel, const csr<V>& a,
                   std::span<const V> y) {
  const vector_summary s = summarize(y);
  const auto first = y.first(std::min(y.size(), entries_shown));
  if (options.json)
    return print_json({{"matrix", options.matrix.name},
                       {"precision", options.matrix.precision},
                       {"rows", a.rows},
                       {"cols", a.cols},
                       {"entries", a.nnz()},
                       {"kernel", options.kernel},
                       {"device", name_of(kernel.runs_on)},
                       {"alpha", options.alpha},
                       {"beta", options.beta},
                       {"x", options.x.empty() ? "ones" : options.x},
                       {"sum", s.sum},
                       {"norm_1", s.norm_1},
                       {"norm_2", s.norm_2},
                       {"norm_max", s.norm_max},
                       {"first", std::vector<V>(first.begin(), first.end())}});
  print(fmt::format("{}  {} of {}, {} entries; x {}; {}{}\n", formula(options), options.matrix.name,
                    shape_text(a.rows, a.cols), grouped(a.nnz()), options.x.empty() ? "all ones" : options.x,
                    options.kernel, place_text(kernel)));
  print(fmt::format("  sum       {:.10g}\n  |y|_1     {:.10g}\n  |y|_2     {:.10g}\n  |y|_max   {:.10g}\n",
                    s.sum, s.norm_1, s.norm_2, s.norm_max));
  print(fmt::format("  y         {:.6g}{}\n", fmt::join(first, "  "), y.size() > entries_shown ? "  …" : ""));
}

template <class V> void run_in(const multiply_options& options, const kernel_row& kernel) {
  using clock = std::chrono::steady_clock;
  const csr<V> a = load<V>(options.matrix.name).matrix;
  const std::vector<V> x = vector_from<V>(options.x, "x", a.cols, 1);
  std::vector<V> y = vector_from<V>(options.y, "y", a.rows, 0);
  const auto start = clock::now();
  const auto prepared =
      kernel.prepare(a, {.budget = options.budget,
                         .on = options.device.empty() ? nullptr : find_device(options.device),
                         .simd = options.simd});
  const auto ready = clock::now();
  prepared->multiply(static_cast<V>(options.alpha), x, static_cast<V>(options.beta), y);
  const std::chrono::duration<double, std::milli> converting = ready - start,
                                                  multiplying = clock::now() - ready;
  if (options.verbose)
    std::fputs(fmt::format("nz: {}{} ({}): {}, converted in {:.3g} ms, multiplied in {:.3g} ms\n",
                           kernel.name, place_text(kernel), kernel.format,
                           format_bytes(prepared->storage().bytes), converting.count(), multiplying.count())
                   .c_str(),
               stderr);
  if (!options.out.empty()) write_vector<V>(output_path(options.out), y);
  if (options.out.empty() || options.json) print_summary<V>(options, kernel, a, y);
}

void run(const multiply_options& options) {
  require_sense(options);
  const kernel_row& kernel = chosen_kernel(options);
  with_precision(options.matrix.precision, [&](auto zero) { run_in<decltype(zero)>(options, kernel); });
}

}  // namespace

void add_multiply(CLI::App& app) {
  CLI::App* command = app.add_subcommand("multiply", "y = alpha A x + beta y");
  auto options = std::make_shared<multiply_options>();
  options->matrix.add_to(*command);
  command->add_option("--x", options->x, "Vector to multiply by (Matrix Market); all ones if not given")
      ->type_name("FILE");
  command->add_option("-o,--out", options->out, "Write y there (- for standard output) instead of a summary")
      ->type_name("FILE");
  command->add_option("--alpha", options->alpha, "Factor of A x")->capture_default_str();
  command->add_option("--beta", options->beta, "Factor of the old y; needs --y")->capture_default_str();
  command->add_option("--y", options->y, "The old y (Matrix Market)")->type_name("FILE");
  command->add_option("--kernel", options->kernel, "Kernel to use; nz list shows them")
      ->type_name("NAME")
      ->capture_default_str();
  add_device_option(*command, options->device, "Where to run it (where it runs best)");
  add_simd_option(*command, options->simd);
  add_budget_option(*command, options->budget);
  command->add_flag("--json", options->json, "Print the summary as JSON");
  command->add_flag("-v,--verbose", options->verbose,
                    "Say on standard error which kernel ran and how long it took");
  command->footer(R"(Examples:
  nz multiply web.mtx                                       row sums: x is all ones
  nz multiply web.mtx --x x.mtx -o y.mtx                    y = A x, written as a vector
  nz multiply web.mtx --alpha 2 --beta -1 --y y.mtx -o -    y = 2 A x - y, to standard output
  nz multiply poisson2d:300 --kernel ell_serial -v
  nz multiply poisson2d:300 --kernel csr_vector --device emulator
  nz multiply web.mtx --json | jq .norm_2)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
