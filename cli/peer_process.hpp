#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "pinning.hpp"

namespace nz::cli {

/// Memory without a name that another process of the same user can open as a file, by `path`: nothing is left
/// behind, however both end.
class shared_memory {
 public:
  /// Zeros. Throws `nz::error` where there is not so much.
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

/// How the processes below are started: with as many threads as this one would use, bound to a processor each
/// where there are enough and OMP_PROC_BIND says nothing else.
struct peer_environment {
  peer_environment();
  int threads;
  cpu_set_t processors;                // all that this process may use
  std::vector<std::string> variables;  // NAME=VALUE
};

/// A program that answers one line for every line it is told (bench/peers/protocol.hpp), in a process group
/// of its own. It ends with this object, and is told to when this process ends in whatever way.
class peer_process {
 public:
  /// Throws `nz::error` where it cannot be started.
  peer_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
               const peer_environment& environment);
  ~peer_process();
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;

  /// Its answer, without the end of line. Throws `nz::error`, which says what became of it, where none comes
  /// in so many seconds; it is of no more use then.
  std::string ask(std::string_view line, double seconds);

 private:
  [[noreturn]] void give_up(const std::string& why);
  [[noreturn]] void give_up_on_the_dead();
  bool has_ended_within(double seconds);
  void end();

  shared_memory complaints_;  // what it writes to standard error: the end of that is told
  pid_t id_ = -1;             // -1: has been waited for
  int status_ = 0;
  int socket_ = -1;
  bool is_lost_ = false;  // it failed to answer: not to be asked to end, but made to
  std::string unread_;
};

}  // namespace nz::cli
