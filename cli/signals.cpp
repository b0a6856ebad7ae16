#include "signals.hpp"

#include <csignal>

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

}  // namespace

void clean_up_on_signals() {
  struct sigaction action = {};
  action.sa_handler = clean_up_and_end;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction before = {};
    sigaction(signal_number, nullptr, &before);
    // What was started in the background or by nohup stays deaf to these; a closed pipe always ends us.
    if (before.sa_handler == SIG_IGN && signal_number != SIGPIPE) continue;
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace nz::cli
