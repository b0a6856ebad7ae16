#include "signals.hpp"

#include <csignal>
#include <cstdlib>
#include <string_view>

#include <unistd.h>

#include <nonzero/io/output_file.hpp>

#include "progress.hpp"

namespace nz::cli {
namespace {

extern "C" void clean_up_and_end(int signal_number) {
  remove_unfinished_output();
  erase_progress();
  // The handler was reset on entry, so this ends the program once the handler returns, and the shell sees
  // why.
  raise(signal_number);
}

/// Reading a mapped file that another program cuts short ends like this.
extern "C" void report_and_end(int) {
  remove_unfinished_output();
  erase_progress();
  constexpr std::string_view line = "nz: a file was cut short while it was being read\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(1);
}

}  // namespace

void clean_up_on_signals() {
  signal(SIGXFSZ, SIG_IGN);  // too large a file is then an error of write()
  signal(SIGBUS, report_and_end);
  std::atexit([] { remove_unfinished_output(); });  // should a library end the program
  struct sigaction action = {};
  action.sa_handler = clean_up_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal_number :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2}) {
    struct sigaction before = {};
    sigaction(signal_number, nullptr, &before);
    // What was started in the background or by nohup stays deaf to these; a closed pipe always ends us.
    if (before.sa_handler == SIG_IGN && signal_number != SIGPIPE) continue;
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace nz::cli
