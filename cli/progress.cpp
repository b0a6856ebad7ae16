#include "progress.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "terminal.hpp"

namespace nz::cli {
namespace {

constexpr auto patience = std::chrono::seconds(1);
constexpr auto refresh = std::chrono::milliseconds(100);
constexpr int bar_width = 30;

std::atomic<bool> is_drawn = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

/// What fails to show is no error: the bar is a courtesy.
void write_error(std::string_view text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

progress_bar::progress_bar(std::string label)
    : label_(std::move(label)), is_wanted_(is_terminal(STDERR_FILENO)), next_(clock::now() + patience) {}

progress_bar::~progress_bar() { erase_progress(); }

void progress_bar::show(double part) {
  if (!is_wanted_ || clock::now() < next_) return;
  next_ = clock::now() + refresh;
  part = std::clamp(part, 0.0, 1.0);
  // The line must not wrap, or it could not be erased: the name gives way.
  const auto room =
      static_cast<std::size_t>(std::max(0, terminal_size(STDERR_FILENO).columns - bar_width - 10));
  is_drawn = true;
  write_error(fmt::format("\r\x1b[K{} {} {:3.0f} %", shorten_label(label_, room),
                          bar_of(part, bar_width, "░"), 100 * part));
}

std::string shorten_label(std::string_view label, std::size_t room) {
  if (label.size() <= room) return std::string(label);
  const std::size_t verb = std::min(label.find(' '), label.size() - 1) + 1;  // and the blank behind it
  if (room <= verb) return std::string(label.substr(0, room));
  std::string_view end = label.substr(label.size() - (room - verb - 1));
  while (!end.empty() && (static_cast<unsigned char>(end[0]) & 0xC0) == 0x80) end.remove_prefix(1);
  return fmt::format("{}…{}", label.substr(0, verb), end);
}

void erase_progress() noexcept {
  if (is_drawn.exchange(false)) write_error("\r\x1b[K");
}

}  // namespace nz::cli
