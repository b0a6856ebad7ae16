#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace nz::cli {

/// A bar on standard error for work that has taken longer than a second. Only on a terminal; gone afterwards.
class progress_bar {
 public:
  explicit progress_bar(std::string label);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// `part` of the work is done, 0 to 1.
  void show(double part);

 private:
  using clock = std::chrono::steady_clock;
  std::string label_;
  bool is_wanted_;
  clock::time_point next_;
};

/// A verb and a name in no more room: the name's end is kept behind the verb, as "reading …/web.mtx".
std::string shorten_label(std::string_view label, std::size_t room);

/// Clears the bar if there is one. Safe in a signal handler.
void erase_progress() noexcept;

}  // namespace nz::cli
