#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sched.h>
#include <sys/types.h>

// Processes of peers, the memory shared with them, and the binding of threads to processors.
namespace nz::cli {

/// Binds each OpenMP thread to its own processor while it lives. Without this, threads that slept while
/// another entry was measured may wake up on the same processor, and the system separates them only after the
/// sample. Does nothing where there are more threads than processors, or where OMP_PROC_BIND is set. Peer
/// processes are bound alike.
class pinned_threads {
 public:
  pinned_threads();
  ~pinned_threads();
  pinned_threads(const pinned_threads&) = delete;
  pinned_threads& operator=(const pinned_threads&) = delete;

 private:
  std::vector<cpu_set_t> before_;  // of each thread; empty: nothing was bound
};

/// Anonymous memory that another process of the same user can open as a file, by `path`. Nothing is left
/// behind, however both end.
class shared_memory {
 public:
  /// Zeros. Throws `nz::error` where there is not enough memory.
  explicit shared_memory(std::size_t bytes);
  ~shared_memory();
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;

  char* data() { return data_; }
  std::size_t size() const { return size_; }
  std::string path() const;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// How the processes are started: with as many threads as this one uses, each bound to a processor where
/// there are enough and OMP_PROC_BIND is not set.
struct peer_environment {
  peer_environment();
  int threads;
  cpu_set_t processors;                // all that this process may use
  std::vector<std::string> variables;  // NAME=VALUE
};

/// A program that answers each line with one line (bench/peers/protocol.hpp), in its own process group. It
/// ends with this object, and when this process ends in any way.
class peer_process {
 public:
  /// Throws `nz::error` where it cannot be started.
  peer_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const peer_environment& environment);
  ~peer_process();
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  /// Its answer, without the end of line. Throws `nz::error` with the reason where no answer comes within so
  /// many seconds; the process cannot be used any more then.
  std::string ask(std::string_view line, double seconds);

 private:
  [[noreturn]] void give_up(const std::string& why);
  [[noreturn]] void report_end();
  bool has_ended_within(double seconds);
  void end();

  shared_memory error_text_;  // its standard error; messages give the last line
  pid_t id_ = -1;             // -1: it has ended
  int status_ = 0;
  int socket_ = -1;
  bool is_lost_ = false;  // it failed to answer: end it by signals
  std::string unread_;
};

}  // namespace nz::cli
