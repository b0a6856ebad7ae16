#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/core/values.hpp>

#include "bench.hpp"
#include "options.hpp"

// Peers: processes that run the multiplies of other libraries, and the memory shared with them.
namespace nz::cli {
namespace {

namespace fs = std::filesystem;

constexpr peer_row peers[] = {
    {"openmp_csr", "csr", "openmp_csr", ""}, {"eigen", "csr", "eigen", ""},
    {"graphblas", "csr", "graphblas", ""},   {"petsc_aij", "aij", "petsc", "aij"},
    {"petsc_sell", "sell", "petsc", "sell"}, {"librsb", "rsb", "librsb", ""},
    {"onemkl", "csr", "onemkl", ""},         {"scipy", "csr", "scipy", ""},
};

using clock = std::chrono::steady_clock;
constexpr std::size_t longest_line = 4096, error_text_bytes = 1 << 16;

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

/// Anonymous memory that another process of the same user can open as a file, by `path`. The system frees it
/// when both processes have ended.
class shared_memory {
 public:
  /// Zeros. Throws `nz::error` where there is not enough memory.
  explicit shared_memory(std::size_t bytes)
      : descriptor_(memfd_create("nonzero", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(bytes) {
    // Reserved now: missing memory would later end the program with SIGBUS.
    int failure = descriptor_ < 0 ? errno : 0;
    if (failure == 0 && bytes > 0) failure = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
    if (failure == 0 && bytes > 0) {
      void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
      if (found == MAP_FAILED) failure = errno;
      data_ = static_cast<char*>(found);
    }
    // A peer that truncates the memory would end this program.
    fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    if (failure == 0) return;
    close(descriptor_);
    throw error(fmt::format("cannot share {} bytes of memory with other programs: {}", bytes,
                            std::strerror(failure)));
  }

  ~shared_memory() {
    if (size_ > 0) munmap(data_, size_);
    close(descriptor_);
  }

  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  char* data() { return data_; }
  std::size_t size() const { return size_; }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", getpid(), descriptor_); }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  char* data_ = nullptr;
  std::size_t size_;
};

/// The processes get as many threads as this one uses, each bound to a processor where there are enough and
/// OMP_PROC_BIND is not set.
struct peer_environment {
  cpu_set_t processors = own_processors();
  std::vector<std::string> variables;  // NAME=VALUE

  peer_environment() {
    const int threads = thread_count(0);
    // Threads of a peer that waits must sleep, whatever the setting for nz is.
    const std::string_view ours[] = {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"};
    for (char** v = environ; *v != nullptr; ++v) {
      const std::string_view variable = *v;
      const std::string_view name = variable.substr(0, variable.find('='));
      if (std::find(std::begin(ours), std::end(ours), name) == std::end(ours))
        variables.emplace_back(variable);
    }
    variables.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
    if (getenv("OMP_PROC_BIND") == nullptr && threads <= CPU_COUNT(&processors))
      variables.emplace_back("OMP_PROC_BIND=true");
    // Freed memory stays in the process: otherwise a library that allocates y for every product (GraphBLAS,
    // SciPy) would spend most of its time on page faults.
    for (const char* setting : {"MALLOC_MMAP_MAX_=0", "MALLOC_TRIM_THRESHOLD_=1099511627776"})
      variables.emplace_back(setting);
  }
};

/// A program that answers each line with one line (bench/peers/protocol.hpp), in its own process group. It
/// ends with this object, or with this process.
class peer_process {
 public:
  /// Throws `nz::error` where it cannot be started.
  peer_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const peer_environment& environment)
      : error_text_(error_text_bytes) {
    std::vector<std::string> words{program}, variables = environment.variables;
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto argv = pointers_to(words), envp = pointers_to(variables);
    int ends[2];
    // Not a pipe: writing to a process that has ended would raise SIGPIPE.
    if (access(program.c_str(), X_OK) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw error(fmt::format("cannot be started: {}", std::strerror(errno)));
    const pid_t self = getpid();
    id_ = fork();
    if (id_ == 0)
      become(program.c_str(), argv.data(), envp.data(), ends[1], error_text_.descriptor(),
             environment.processors, self);
    const int failure = errno;
    close(ends[1]);
    socket_ = ends[0];
    if (id_ < 0) {
      close(socket_);
      throw error(fmt::format("cannot be started: {}", std::strerror(failure)));
    }
    setpgid(id_, id_);  // the child does the same; either may come first
  }

  ~peer_process() {
    end();
    close(socket_);
  }
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  /// Its answer, without the end of line. Throws `nz::error` with the reason where no answer comes in time;
  /// the process cannot be used any more then.
  std::string ask(std::string_view line, double seconds) {
    const auto until = clock::now() + std::chrono::duration<double>(seconds);
    const std::string sent = std::string(line) + "\n";
    if (!unread_.empty()) give_up(fmt::format("says more than it was asked: {}", printable(unread_)));
    if (send(socket_, sent.data(), sent.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(sent.size()))
      report_end();
    while (unread_.find('\n') == std::string::npos) {
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
    const std::size_t end_of_line = unread_.find('\n');
    std::string answer = unread_.substr(0, end_of_line);
    unread_.erase(0, end_of_line + 1);
    return answer;
  }

  /// Waits until its threads sleep, for a fifth of a second at most. GCC's OpenMP spins for some
  /// milliseconds after a parallel region, on the processors that the next entry is timed on.
  void wait_until_idle() const {
    for (int pauses = 0; pauses < 400 && is_running(); ++pauses)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
  }

 private:
  /// Whether one of its threads has a processor, or waits for one. (Its processor time would tell less: it is
  /// brought up to date only by the system's clock ticks.)
  bool is_running() const {
    std::error_code ended;
    for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", id_), ended)) {
      std::string line;  // number (name) state ...
      std::getline(std::ifstream(thread.path() / "stat"), line);
      const std::size_t name_end = line.rfind(')');
      if (name_end != line.npos && line.substr(name_end).starts_with(") R")) return true;
    }
    return false;
  }

  [[noreturn]] void give_up(const std::string& why) {
    is_lost_ = true;
    end();
    throw error(why);
  }

  [[noreturn]] void report_end() {
    if (!has_ended_within(1)) give_up("it closed the connection");
    std::string why = WIFSIGNALED(status_) ? fmt::format("it was ended by signal {}", WTERMSIG(status_))
                                           : fmt::format("it ended with status {}", WEXITSTATUS(status_));
    const std::string last_line = last_line_of({error_text_.data(), error_text_.size()});
    if (!last_line.empty()) why += ": " + last_line;
    give_up(why);
  }

  bool has_ended_within(double seconds) {
    const auto until = clock::now() + std::chrono::duration<double>(seconds);
    while (id_ > 0) {
      const pid_t ended = waitpid(id_, &status_, WNOHANG);
      if (ended == id_ || (ended < 0 && errno != EINTR)) id_ = -1;
      if (id_ > 0 && clock::now() > until) return false;
      if (id_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void end() {
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

  shared_memory error_text_;  // its standard error; messages give the last line
  pid_t id_ = -1;             // -1: it has ended
  int status_ = 0;
  int socket_ = -1;
  bool is_lost_ = false;  // it failed to answer: end it by signals
  std::string unread_;
};

/// A time; none where the word is not a number, not finite, or negative.
std::optional<double> seconds_in(std::string_view word) {
  const auto out = parse_number<double>(word);
  return out && std::isfinite(*out) && *out >= 0 ? out : std::nullopt;
}

/// Removes the first word from a line.
std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// For a table: no control characters, and not too long.
std::string shown(std::string_view text) { return printable(text.substr(0, 200), '?'); }

[[noreturn]] void reject(std::string_view answer) {
  throw error(fmt::format("its answer makes no sense: '{}'", shown(answer)));
}

/// $NONZERO_PEERS; else the folder `peers` beside this program, or libexec/nonzero/peers of an installation.
fs::path find_peers_folder() {
  const char* const wish = std::getenv("NONZERO_PEERS");
  if (wish != nullptr && *wish != '\0') return wish;
  std::error_code nothing_there;
  const fs::path here = fs::read_symlink("/proc/self/exe", nothing_there).parent_path();
  for (const fs::path& folder : {here / "peers", here.parent_path() / "libexec/nonzero/peers"})
    if (fs::is_directory(folder, nothing_there)) return folder;
  return here / "peers";
}

/// A matrix and x in the layout of bench/peers/protocol.hpp: a header and the arrays, each at a multiple of
/// 64 bytes.
template <class V> std::shared_ptr<shared_memory> copy_to_shared(const csr<V>& a, const std::vector<V>& x) {
  const std::int64_t header[8] = {1, sizeof(V), a.rows, a.cols, a.nnz()};
  const std::span<const std::byte> arrays[] = {
      std::as_bytes(std::span(header)), std::as_bytes(std::span(a.row_begin)),
      std::as_bytes(std::span(a.col)), std::as_bytes(std::span(a.val)), std::as_bytes(std::span(x))};
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  std::size_t all = 0;
  for (const auto& array : arrays) all += aligned(array.size());
  auto out = std::make_shared<shared_memory>(all);
  char* to = out->data();
  for (const auto& array : arrays) {
    if (!array.empty()) std::memcpy(to, array.data(), array.size());
    to += aligned(array.size());
  }
  return out;
}

/// What the peers of one matrix have in common.
struct peers_of_matrix {
  std::shared_ptr<shared_memory> matrix;
  fs::path folder = find_peers_folder();  // where the programs are
  peer_environment environment = {};
};

template <class V> class peer_entry final : public entry {
 public:
  /// `exact` is A x; `patience` is in seconds.
  peer_entry(const peer_row& peer, std::shared_ptr<const peers_of_matrix> shared, double patience,
             const reference::exact_product& exact)
      : entry({{}, std::string(peer.name), std::string(peer.format), true}),
        peer_(peer),
        shared_(std::move(shared)),
        patience_(patience),
        exact_(exact) {}

  void prepare() override {
    record_failure(result, [this] {
      start();
      if (!result.is_refused()) check();
      if (result.is_right()) process_->wait_until_idle();
    });
    if (!result.is_right()) release();
  }

  double run(int calls, bool) override {  // it always warms up by itself
    const auto start = clock::now();
    const std::string answer = ask(fmt::format("time {}", calls));
    const double passed = std::chrono::duration<double>(clock::now() - start).count();
    std::string_view rest = answer;
    const std::string_view word = next_word(rest);
    const auto seconds = seconds_in(rest);
    if (word != "took" || !seconds || *seconds > passed) reject(answer);
    process_->wait_until_idle();
    return *seconds;
  }

  void release() override { process_.reset(); }

 private:
  std::string ask(const std::string& line) { return process_->ask(line, patience_); }

  void start() {
    const fs::path program = shared_->folder / peer_.program;
    std::error_code nothing_there;
    if (!fs::exists(program, nothing_there)) {
      result.refusal = fmt::format("{} is not built: make peers", peer_.program);
      return;
    }
    std::vector<std::string> arguments;
    if (!peer_.argument.empty()) arguments.emplace_back(peer_.argument);
    process_.emplace(program, arguments, shared_->environment);

    const std::string answer = ask("matrix " + shared_->matrix->path());
    std::string_view rest = answer;
    const std::string_view word = next_word(rest);
    if (word == "cannot" && !rest.empty()) {
      result.refusal = shown(rest);
      return;
    }
    const auto seconds = seconds_in(next_word(rest));
    if (word != "ready" || !seconds) reject(answer);
    result.prepare_seconds = *seconds;
    result.version = shown(rest);
  }

  void check() {
    shared_memory memory(exact_.y.size() * sizeof(V));
    // A row that is not written stays NaN, which is wrong.
    std::vector<V> y(exact_.y.size(), std::numeric_limits<V>::quiet_NaN());
    if (!y.empty()) std::memcpy(memory.data(), y.data(), memory.size());
    const std::string answer = ask("result " + memory.path());
    if (answer != "written") reject(answer);
    if (!y.empty()) std::memcpy(y.data(), memory.data(), memory.size());
    result.error = reference::largest_error<V>(exact_, y);
  }

  const peer_row& peer_;
  std::shared_ptr<const peers_of_matrix> shared_;
  double patience_;
  const reference::exact_product& exact_;
  std::optional<peer_process> process_;
};

}  // namespace

std::span<const peer_row> known_peers() { return peers; }

template <class V>
void add_peers(entries& to, const csr<V>& a, const trials_of_matrix<V>& against, const chosen_rows& rows) {
  if (rows.peers.empty()) return;
  const auto shared = std::make_shared<const peers_of_matrix>(peers_of_matrix{copy_to_shared(a, against.x)});
  for (const peer_row* peer : rows.peers)  // the first trial's product is A x
    to.push_back(std::make_unique<peer_entry<V>>(*peer, shared, rows.peer_seconds, against.trials[0].exact));
}

#define NZ_INSTANTIATE(V) \
  template void add_peers(entries&, const csr<V>&, const trials_of_matrix<V>&, const chosen_rows&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
