#include "peer_process.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>

#include "output.hpp"

namespace nz::cli {
namespace {

using clock = std::chrono::steady_clock;
constexpr std::size_t longest_line = 4096;
constexpr std::size_t error_text_bytes = 1 << 16;

std::string last_error() { return std::strerror(errno); }

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

std::string last_line_of(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return printable(text.substr(text.rfind('\n') + 1));
}

/// In the new process, between fork and exec: calls only what is safe in a signal handler.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* variables, int socket,
                         int error_text, const cpu_set_t& processors, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // unlike after SIGKILL, mpiexec can then clean up
  if (getppid() != parent) _exit(127);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGBUS, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM})
    signal(number, SIG_DFL);
  sched_setaffinity(0, sizeof processors, &processors);
  dup2(socket, STDIN_FILENO);
  dup2(socket, STDOUT_FILENO);
  dup2(error_text, STDERR_FILENO);
  execve(program, arguments, variables);
  constexpr std::string_view line = "cannot be started\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  _exit(127);
}

/// All processors that this process may use, also where OpenMP has bound the calling thread to one of them.
cpu_set_t own_processors() {
  cpu_set_t out;
  CPU_ZERO(&out);
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> numbers(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, numbers.data());
    for (const int p : numbers) CPU_SET(p, &out);
  }
  if (CPU_COUNT(&out) == 0) sched_getaffinity(0, sizeof out, &out);
  return out;
}

std::vector<int> numbers_in(const cpu_set_t& processors) {
  std::vector<int> out;
  for (int p = 0; p < CPU_SETSIZE; ++p)
    if (CPU_ISSET(p, &processors)) out.push_back(p);
  return out;
}

}  // namespace

pinned_threads::pinned_threads() {
  const std::vector<int> processors = numbers_in(own_processors());
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  if (threads > processors.size() || omp_get_proc_bind() != omp_proc_bind_false) return;
  before_.resize(threads);
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    sched_getaffinity(0, sizeof before_[t], &before_[t]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processors[t], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

pinned_threads::~pinned_threads() {
  if (before_.empty()) return;
#pragma omp parallel num_threads(static_cast <int>(before_.size()))
  {
    const auto t = static_cast<std::size_t>(omp_get_thread_num());
    sched_setaffinity(0, sizeof before_[t], &before_[t]);
  }
}

shared_memory::shared_memory(std::size_t bytes) : size_(bytes) {
  descriptor_ = memfd_create("nonzero", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) throw error(fmt::format("cannot share memory with other programs: {}", last_error()));
  // Reserved now: missing memory would later end the program with SIGBUS.
  const int failure = bytes == 0 ? 0 : posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  void* const found = failure != 0 || bytes == 0
                          ? MAP_FAILED
                          : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  // A peer that truncates the memory would end this program.
  fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  if (found != MAP_FAILED)
    data_ = static_cast<char*>(found);
  else if (bytes > 0) {
    const std::string why = failure != 0 ? std::strerror(failure) : last_error();
    close(descriptor_);
    throw error(fmt::format("cannot share {} bytes of memory with other programs: {}", bytes, why));
  }
}

shared_memory::~shared_memory() {
  if (data_ != nullptr) munmap(data_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string shared_memory::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }

peer_environment::peer_environment() : threads(thread_count(0)), processors(own_processors()) {
  // Threads of a peer that waits must sleep, whatever the setting for nz is.
  const std::string_view ours[] = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"};
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view variable = *v;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (std::find(std::begin(ours), std::end(ours), name) == std::end(ours)) variables.emplace_back(variable);
  }
  variables.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
  if (getenv("OMP_PROC_BIND") == nullptr && threads <= CPU_COUNT(&processors))
    variables.emplace_back("OMP_PROC_BIND=true");
  // Freed memory stays in the process: otherwise a library that allocates y for every product (GraphBLAS,
  // SciPy) would spend most of its time on page faults.
  for (const char* setting : {"MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=1099511627776"})
    variables.emplace_back(setting);
}

peer_process::peer_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                           const peer_environment& environment)
    : error_text_(error_text_bytes) {
  std::vector<std::string> words{program}, variables = environment.variables;
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto argv = pointers_to(words), envp = pointers_to(variables);
  if (access(program.c_str(), X_OK) != 0) throw error(fmt::format("cannot be started: {}", last_error()));
  int ends[2];
  // Not a pipe: writing to a process that has ended would raise SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw error(fmt::format("cannot be started: {}", last_error()));
  const pid_t self = getpid();
  id_ = fork();
  if (id_ == 0)
    become(program.c_str(), argv.data(), envp.data(), ends[1], error_text_.descriptor(),
           environment.processors, self);
  const std::string why = last_error();
  close(ends[1]);
  socket_ = ends[0];
  if (id_ > 0) {
    setpgid(id_, id_);  // the child does the same; either may come first
    return;
  }
  close(socket_);
  throw error(fmt::format("cannot be started: {}", why));
}

peer_process::~peer_process() {
  end();
  close(socket_);
}

std::string peer_process::ask(std::string_view line, double seconds) {
  const auto until = clock::now() + std::chrono::duration<double>(seconds);
  const std::string sent = std::string(line) + "\n";
  if (!unread_.empty()) give_up(fmt::format("says more than it was asked: {}", printable(unread_)));
  if (send(socket_, sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size()))
    report_end();
  while (true) {
    const std::size_t end_of_line = unread_.find('\n');
    if (end_of_line != std::string::npos) {
      std::string answer = unread_.substr(0, end_of_line);
      unread_.erase(0, end_of_line + 1);
      return answer;
    }
    if (unread_.size() > longest_line) give_up("its answer has no end");
    const double left = std::chrono::duration<double>(until - clock::now()).count();
    pollfd wanted{socket_, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&wanted, 1, static_cast<int>(std::min(left * 1e3, 1e6)) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (left <= 0) give_up(fmt::format("no answer in {:g} s", seconds));
    if (ready == 0) continue;
    char bytes[1024];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, 0);
    if (got <= 0) report_end();
    unread_.append(bytes, static_cast<std::size_t>(got));
  }
}

void peer_process::give_up(const std::string& why) {
  is_lost_ = true;
  end();
  throw error(why);
}

void peer_process::report_end() {
  if (!has_ended_within(1)) give_up("it closed the connection");
  std::string why = WIFSIGNALED(status_) ? fmt::format("it was ended by signal {}", WTERMSIG(status_))
                                         : fmt::format("it ended with status {}", WEXITSTATUS(status_));
  const std::string last_line = last_line_of({error_text_.data(), error_text_.size()});
  if (!last_line.empty()) why += ": " + last_line;
  give_up(why);
}

bool peer_process::has_ended_within(double seconds) {
  const auto until = clock::now() + std::chrono::duration<double>(seconds);
  while (id_ > 0) {
    const pid_t ended = waitpid(id_, &status_, WNOHANG);
    if (ended == id_ || (ended < 0 && errno != EINTR)) id_ = -1;
    if (id_ < 0) break;
    if (clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

void peer_process::end() {
  if (id_ < 0) return;
  constexpr std::string_view quit = "quit\n";
  if (!is_lost_) send(socket_, quit.data(), quit.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket_, SHUT_RDWR);
  const pid_t group = id_;
  if (!is_lost_ && has_ended_within(5)) return;
  for (const int signal_number : {SIGTERM, SIGKILL}) {
    kill(-group, signal_number);
    if (has_ended_within(3)) return;
  }
}

}  // namespace nz::cli
