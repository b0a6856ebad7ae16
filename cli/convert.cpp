#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/io/generate.hpp>

#include "matrices.hpp"

// The commands that write a matrix: nz convert and nz generate.
namespace nz::cli {
namespace {

struct convert_options {
  matrix_argument matrix;
  matrix_output output;
};

void run(const convert_options& options) {
  options.output.require_valid();
  with_precision(options.matrix.precision,
                 [&](auto zero) { options.output.write(load_matrix<decltype(zero)>(options.matrix.name)); });
}

struct generate_options {
  std::vector<std::string> words;  // KIND, its sizes, and OUT
  std::string precision = "double";
  std::string seed = "1";
  matrix_output output;
};

/// Whether a word is a kind or one of its sizes, and no file.
bool is_of_spec(const std::string& word) {
  return word != "-" &&
         (std::filesystem::path(word).extension().empty() || parse_number<double>(word).has_value());
}

void run(generate_options& options) {
  if (options.words.size() == 1 || is_of_spec(options.words.back()))
    throw usage_error(
        fmt::format("generate: the file to write is missing: give it at the end, as in 'nz generate {} "
                    "matrix.mtx'; it ends "
                    "in .mtx or .npz, or is - for standard output",
                    fmt::join(options.words, " ")));
  options.output.name = options.words.back();
  options.words.pop_back();
  options.output.require_valid();
  const auto seed = parse_number<std::uint64_t>(options.seed);
  if (!seed || options.seed.size() > 19)
    throw usage_error(
        fmt::format("generate: --seed: '{}' is not a whole number of up to 19 digits", options.seed));
  with_precision(options.precision, [&](auto zero) {
    csr<decltype(zero)> a;
    try {
      a = generate::from_spec<decltype(zero)>(fmt::format("{}", fmt::join(options.words, ":")), *seed);
    } catch (const error& e) {
      throw usage_error(e.what() +
                        (generate::is_spec(options.words[0]) ? "" : similar_generator(options.words[0])));
    }
    options.output.write(a);
  });
}

std::string help_text() {
  std::string out = "Kinds:\n";
  for (const generate::kind& kind : generate::kinds())
    out += fmt::format("  {:<12} {:<28} {}\n", kind.name, kind.parameters, kind.summary);
  return out + R"(
The same seed gives the same matrix on every machine. Other commands take generators as KIND:SIZE:…

Examples:
  nz generate poisson2d 300 200 grid.mtx
  nz generate rmat 16 8 graph.npz --seed 7
  nz generate tridiagonal 1000 - | head
  nz info rmat:16:8)";
}

}  // namespace

void set_up_convert(command& c) {
  auto& options = c.runs<const convert_options>(run);
  options.matrix.add_to(c);
  c.argument("OUT", options.output.name, "File to write, .mtx or .npz, or - for text on standard output");
  options.output.add_to(c);
  c.footer(
      R"(Duplicate entries are summed, and symmetric matrices are written in full. The file is written atomically:
an old file is replaced only when the new one is complete.

Examples:
  nz convert web.tar.gz web.npz
  nz convert web.npz web.mtx --precision float
  nz convert web.mtx.gz - | head
  nz convert web.mtx small.npz --compress)");
}

void set_up_generate(command& c) {
  auto& options = c.runs<generate_options>(run);
  c.arguments("KIND", options.words, 1,
              "One of the kinds below, its sizes, and the file to write (.mtx, .npz, - for text)");
  c.text("--seed", options.seed, "N", "Seed of random values and positions (1)");
  c.precision(options.precision);
  c.threads();
  options.output.add_to(c);
  c.usage("Usage: nz generate [OPTIONS] KIND [SIZE...] OUT");
  c.footer(help_text());
}

}  // namespace nz::cli
