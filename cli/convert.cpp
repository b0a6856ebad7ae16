#include <memory>

#include "commands.hpp"
#include "matrix_argument.hpp"
#include "matrix_output.hpp"

namespace nz::cli {
namespace {

struct convert_options {
  matrix_argument matrix;
  matrix_output output;
};

void run(const convert_options& options) {
  options.output.require_known_ending();
  with_precision(options.matrix.precision,
                 [&](auto zero) { options.output.write(load<decltype(zero)>(options.matrix.name).matrix); });
}

}  // namespace

void add_convert(CLI::App& app) {
  CLI::App* command = app.add_subcommand("convert", "Write a matrix as .mtx or .npz");
  auto options = std::make_shared<convert_options>();
  options->matrix.add_to(*command);
  command
      ->add_option("OUT", options->output.name,
                   "A file ending in .mtx or .npz, or - for text on standard output")
      ->required()
      ->option_text(" ");
  options->output.add_to(*command);
  command->footer(
      R"(Duplicates are summed and symmetric files written in full. The file is whole or not there: an old
one of that name is replaced only when the new one is complete.

Examples:
  nz convert web.tar.gz web.npz
  nz convert web.npz web.mtx --precision float
  nz convert web.mtx.gz - | head
  nz convert web.mtx small.npz --compress)");
  command->callback([options] { run(*options); });
}

}  // namespace nz::cli
