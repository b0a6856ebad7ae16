#include <memory>

#include "commands.hpp"
#include "matrices.hpp"

namespace nz::cli {
namespace {

struct convert_options {
  matrix_argument matrix;
  matrix_output output;
};

void run(const convert_options& options) {
  options.output.require_writable();
  with_precision(options.matrix.precision,
                 [&](auto zero) { options.output.write(load<decltype(zero)>(options.matrix.name).matrix); });
}

}  // namespace

void set_up_convert(command& c) {
  auto options = std::make_shared<convert_options>();
  options->matrix.add_to(c);
  c.argument("OUT", options->output.name, "File to write, .mtx or .npz, or - for text on standard output");
  options->output.add_to(c);
  c.footer(
      R"(Duplicate entries are summed, and symmetric matrices are written in full. The file is written atomically:
an old file is replaced only when the new one is complete.

Examples:
  nz convert web.tar.gz web.npz
  nz convert web.npz web.mtx --precision float
  nz convert web.mtx.gz - | head
  nz convert web.mtx small.npz --compress)");
  c.run([options] { run(*options); });
}

}  // namespace nz::cli
