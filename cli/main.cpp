#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "failures.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace nz::cli {
namespace {

constexpr int failed = 1, wrong_usage = 2;

constexpr const char* examples = R"(Examples:
  nz info web.mtx.gz                      shape, symmetry, row lengths, bytes in every format
  nz spy poisson2d:30                     the pattern of a generated matrix, in the terminal
  nz spy web.mtx -o web.png               the pattern as a picture
  nz convert web.tar.gz web.npz           SuiteSparse archive to SciPy's (and our fast) binary form
  nz generate rmat 16 graph.mtx           a power-law graph of 2^16 vertices
  nz multiply web.mtx --x x.mtx -o y.mtx  y = A x
  nz check web.mtx                        every kernel against the exact product
  nz bench web.mtx                        how fast every kernel is, and how fast it could be
  nz plan web.mtx                         which kernel suits it on this CPU, and why
  nz solve poisson2d:300                  x with A x = b, by conjugate gradients
  nz pagerank web.mtx                     the pages that links lead to most
  nz heat --cells 400 --plot heat.png     the heat equation, as a picture

A matrix is a file (.mtx, .mtx.gz, .tar.gz, .npz), - for standard input, or a generator with its
sizes, such as poisson2d:300. 'nz COMMAND --help' says more.)";

void add_commands(CLI::App& app) {
  app.name("nz");
  app.require_subcommand(1);
  app.set_version_flag("--version", "nz " NONZERO_VERSION);
  app.footer(examples);
  add_info(app);
  add_spy(app);
  add_convert(app);
  add_generate(app);
  add_multiply(app);
  add_check(app);
  add_bench(app);
  add_plan(app);
  add_solve(app);
  add_pagerank(app);
  add_heat(app);
  add_list(app);
}

/// One line, whatever the message holds.
int report(int status, std::string message) {
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  std::fflush(stdout);  // what was found comes before what is said of it
  std::fputs(fmt::format("nz: {}\n", message).c_str(), stderr);  // what fails to show is no error
  return status;
}

/// What to say of a command line that CLI11 does not take.
std::string usage_message(const CLI::App& app, const CLI::ParseError& e) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty())
    return fmt::format("{}: {} (see nz {} --help)", chosen[0]->get_name(), e.what(), chosen[0]->get_name());
  const auto words = app.remaining();
  if (words.empty()) return "which command? (see nz --help)";
  if (words[0].starts_with('-')) return fmt::format("there is no option '{}' (see nz --help)", words[0]);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return fmt::format("there is no command '{}'; there are {} (see nz --help)", words[0],
                     fmt::join(names, ", "));
}

int run(int argc, char** argv) {
  CLI::App app{"Sparse matrices: look at them, convert them, multiply them by vectors."};
  add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
  } catch (const CLI::CallForVersion& e) {
    print(fmt::format("{}\n", e.what()));
  } catch (const CLI::ParseError& e) {
    return report(wrong_usage, usage_message(app, e));
  }
  finish_output();
  return 0;
}

}  // namespace

/// The exit status; nothing is thrown.
int run_and_report(int argc, char** argv) {
  try {
    clean_up_on_signals();
    return run(argc, argv);
  } catch (const usage_error& e) {
    return report(wrong_usage, e.what());
  } catch (const std::bad_alloc&) {
    return report(failed, "out of memory");
  } catch (const std::length_error&) {  // more than any memory holds
    return report(failed, "out of memory");
  } catch (const std::exception& e) {
    return report(failed, e.what());
  }
}

}  // namespace nz::cli

int main(int argc, char** argv) { return nz::cli::run_and_report(argc, argv); }
