#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/io/generate.hpp>

#include "commands.hpp"
#include "failures.hpp"
#include "matrix_argument.hpp"
#include "matrix_output.hpp"

namespace nz::cli {
namespace {

struct generate_options {
  std::vector<std::string> words;  // KIND, its sizes, and OUT
  std::string precision = "double";
  std::uint64_t seed = 1;
  matrix_output output;
};

void run(generate_options options) {
  options.output.name = options.words.back();
  options.words.pop_back();
  options.output.require_known_ending();
  with_precision(options.precision, [&](auto zero) {
    csr<decltype(zero)> a;
    try {
      a = generate::from_spec<decltype(zero)>(fmt::format("{}", fmt::join(options.words, ":")), options.seed);
    } catch (const error& e) {
      throw usage_error(e.what());
    }
    options.output.write(a);
  });
}

std::string help_text() {
  std::string out = "Kinds:\n";
  for (const generate::kind& kind : generate::kinds())
    out += fmt::format("  {:<12} {:<28} {}\n", kind.name, kind.parameters, kind.summary);
  out += R"(
The same seed gives the same matrix on every machine. Other commands take these as KIND:SIZE:…

Examples:
  nz generate poisson2d 300 200 grid.mtx
  nz generate rmat 16 8 graph.npz --seed 7
  nz generate tridiagonal 1000 - | head
  nz info rmat:16:8)";
  return out;
}

/// CLI11 would write one positional, twice.
class usage_formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: nz generate [OPTIONS] KIND [SIZE...] OUT\n";
  }
};

}  // namespace

void add_generate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Make a matrix by rule: grids, bands, random graphs");
  auto options = std::make_shared<generate_options>();
  command
      ->add_option("KIND...", options->words,
                   "One of the kinds below, its sizes, and the file to write (.mtx, .npz, - for text)")
      ->required()
      ->expected(2, 64)
      ->option_text(" ");
  command->add_option("--seed", options->seed, "For the kinds with random values or places")
      ->check([](const std::string& text) {
        const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(),
                                                            [](char c) { return c >= '0' && c <= '9'; });
        return is_number && text.size() < 20
                   ? ""
                   : fmt::format("'{}' is no seed: a whole number of up to 19 digits", text);
      })
      ->capture_default_str();
  add_precision_option(*command, options->precision);
  options->output.add_to(*command);
  command->formatter(std::make_shared<usage_formatter>());
  command->footer(help_text());
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
