#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"
#include "failures.hpp"
#include "matrix_argument.hpp"
#include "output.hpp"
#include "spy_picture.hpp"
#include "terminal.hpp"

namespace nz::cli {
namespace {

constexpr int default_pixels = 1024;

struct spy_options {
  matrix_argument matrix;
  std::string out;  // empty: the terminal
  int size = 0;     // 0: what the terminal has, or default_pixels
};

/// The screen less the frame, and less the lines above and below the picture.
text_space space_for(const spy_options& options) {
  const extent screen = terminal_size(STDOUT_FILENO);
  if (options.size > 0) return {options.size, options.size};
  return {std::max(8, screen.columns - 2), std::max(8, screen.lines - 5)};
}

template <class V> void show_in_terminal(const spy_options& options, const csr<V>& a) {
  const text_space space = space_for(options);
  const density_grid grid = find_text_density(a, space);
  print(fmt::format("{}  {}, {} entries\n", bold(options.matrix.name), shape_text(a.rows, a.cols),
                    grouped(a.nnz())));
  print(draw_text(grid, space, has_colour()));
  if (!grid.is_one_to_one())
    print(faint(fmt::format("a dot stands for {}", shape_text(grid.cell_rows, grid.cell_cols))) + "\n");
}

void run(const spy_options& options) {
  const bool to_file = !options.out.empty();
  if (to_file && options.out != "-" && std::filesystem::path(options.out).extension() != ".png")
    throw usage_error(fmt::format("{}: the picture is written as .png; name it so", options.out));
  with_precision(options.matrix.precision, [&](auto zero) {
    const auto a = load<decltype(zero)>(options.matrix.name).matrix;
    if (!to_file) return show_in_terminal(options, a);
    const int pixels = options.size > 0 ? options.size : default_pixels;
    write_png(output_path(options.out), draw_image(find_image_density(a, pixels), pixels));
  });
}

}  // namespace

void add_spy(CLI::App& app) {
  CLI::App* command = app.add_subcommand("spy", "The nonzero pattern, in the terminal or as a PNG");
  auto options = std::make_shared<spy_options>();
  options->matrix.add_to(*command);
  command->add_option("-o,--out", options->out, "Write a picture there (.png, or - for standard output)")
      ->type_name("FILE");
  command->add_option("--size", options->size, "Longer side: pixels (1024), or characters in the terminal")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command->footer(
      R"(The darker (in a terminal: the warmer) a dot, the more entries it stands for, on a logarithmic scale.

Examples:
  nz spy west0067.mtx
  nz spy poisson2d:8
  nz spy web.mtx.gz -o web.png
  nz spy rmat:14 -o graph.png --size 2000)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
