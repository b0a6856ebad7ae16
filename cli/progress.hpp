#pragma once

#include <chrono>
#include <string>

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

/// Clears the bar if there is one. Safe in a signal handler.
void erase_progress() noexcept;

}  // namespace nz::cli
