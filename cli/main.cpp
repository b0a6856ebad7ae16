#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <nonzero/core/memory.hpp>
#include <nonzero/core/version.hpp>
#include <nonzero/cpu/targets.hpp>
#include <nonzero/io/output_file.hpp>

#include "options.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

constexpr int failed = 1, wrong_usage = 2;

constexpr const char* examples = R"(Examples:
  nz info web.mtx.gz                      shape, symmetry, row lengths, bytes in every format
  nz spy poisson2d:30                     the pattern of a generated matrix, in the terminal
  nz spy web.mtx -o web.png               the pattern as a picture
  nz convert web.tar.gz web.npz           SuiteSparse archive to SciPy's binary format
  nz generate rmat 16 graph.mtx           a power-law graph of 2^16 vertices
  nz multiply web.mtx --x x.mtx -o y.mtx  y = A x
  nz check web.mtx                        compare every kernel with the exact product
  nz bench web.mtx                        measure every kernel
  nz plan web.mtx                         the best kernel on this CPU, and why
  nz solve poisson2d:300                  solve A x = b by conjugate gradients
  nz pagerank web.mtx                     the pages of highest rank
  nz heat --cells 400 --plot heat.png     the heat equation, as a picture

A matrix is a file (.mtx, .mtx.gz, .tar.gz, .npz), - for standard input, or a generator with its
sizes, such as poisson2d:300. 'nz COMMAND --help' shows the options of a command.)";

/// "nz 0.1.0", and what it was built with.
std::string version_text() {
  const auto all = kernels();
  const bool has_cuda = std::any_of(all.begin(), all.end(),
                                    [](const kernel_row& row) { return row.runs_on == device_kind::cuda; });
  return fmt::format("nz {}\nbuilt {} CUDA; SIMD targets for this CPU: {}", version(),
                     has_cuda ? "with" : "without", fmt::join(simd_targets(), ", "));
}

extern "C" void clean_up_and_end(int signal_number) {
  remove_unfinished_output();
  erase_progress();
  if (signal_number != SIGBUS) {
    raise(signal_number);  // the handler was reset on entry: this ends the program, and the shell sees why
    return;
  }
  // A mapped file that another program truncates raises SIGBUS when it is read.
  constexpr std::string_view line = "nz: a file was truncated while it was being read\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(failed);
}

/// A signal that ends the program first removes the output file that is being written.
void clean_up_on_signals() {
  signal(SIGXFSZ, SIG_IGN);                         // a file that gets too large is then an error of write()
  std::atexit([] { remove_unfinished_output(); });  // in case a library ends the program
  struct sigaction action = {};
  action.sa_handler = clean_up_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal_number :
       {SIGBUS, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2}) {
    struct sigaction before = {};
    sigaction(signal_number, nullptr, &before);
    // A background job or nohup keeps ignoring its signals; a closed pipe always ends nz.
    if (before.sa_handler == SIG_IGN && signal_number != SIGPIPE && signal_number != SIGBUS) continue;
    sigaction(signal_number, &action, nullptr);
  }
}

/// One line on standard error, after what was printed before. A failure to write it is ignored.
int report(int status, const std::string& message) {
  std::fflush(stdout);
  std::fputs(fmt::format("nz: {}\n", printable(message)).c_str(), stderr);
  return status;
}

/// The exit status; nothing is thrown.
int run_and_report(int argc, char** argv) {
  try {
    clean_up_on_signals();
    print(parse_and_run(argc, argv, version_text(), examples));
    finish_output();
    return 0;
  } catch (const usage_error& e) {
    return report(wrong_usage, e.what());
  } catch (const not_enough_memory& e) {
    return report(failed, e.what());
  } catch (const std::bad_alloc&) {
    return report(failed, "out of memory");
  } catch (const std::length_error&) {  // larger than any memory
    return report(failed, "out of memory");
  } catch (const std::exception& e) {
    return report(failed, e.what());
  }
}

}  // namespace
}  // namespace nz::cli

int main(int argc, char** argv) { return nz::cli::run_and_report(argc, argv); }
