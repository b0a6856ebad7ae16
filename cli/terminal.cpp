#include "terminal.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace nz::cli {
namespace {

std::string in_style(std::string_view code, std::string_view text) {
  return has_colour() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

constexpr std::string_view gap = "  ";

std::string in_column(const std::string& cell, int width, table::side align) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(cell))), ' ');
  return align == table::side::right ? fill + cell : cell + fill;
}

void add_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

constexpr auto delay = std::chrono::seconds(1);
constexpr auto refresh = std::chrono::milliseconds(100);
constexpr int bar_width = 30;

std::atomic<bool> is_drawn = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

/// A failure to write is ignored.
void write_error(std::string_view text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

extent terminal_size(int descriptor) {
  extent out;
  if (winsize size = {}; ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return {size.ws_col, size.ws_row > 0 ? size.ws_row : out.lines};
  if (const char* text = std::getenv("COLUMNS")) {
    int columns = 0;
    const std::string_view digits = text;
    std::from_chars(digits.data(), digits.data() + digits.size(), columns);
    if (columns > 0) out.columns = std::min(columns, 1000);
  }
  return out;
}

bool has_colour() {
  static const bool colour = [] {
    const char* term = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
    return is_terminal(STDOUT_FILENO) && !is_dumb && (no_color == nullptr || *no_color == '\0');
  }();
  return colour;
}

std::string bold(std::string_view text) { return in_style("1", text); }
std::string faint(std::string_view text) { return in_style("2", text); }
std::string red(std::string_view text) { return in_style("1;31", text); }
std::string green(std::string_view text) { return in_style("32", text); }
std::string yellow(std::string_view text) { return in_style("33", text); }

std::string frame_line(int width, std::string_view left, std::string_view right) {
  std::string out(left);
  for (int i = 0; i < width; ++i) out += "─";
  return out.append(right) + "\n";
}

std::string bar_of(double part, int width, std::string_view empty) {
  constexpr std::string_view segments[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(part * width * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += segments[eighths % 8];
  for (int used = (eighths + 7) / 8; used < width; ++used) out += empty;
  return out;
}

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::vector<int> table::widths() const {
  std::vector<int> out;
  for (const column& c : columns_) out.push_back(display_width(c.title));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size() && !spans(row, c); ++c)
      out[c] = std::max(out[c], display_width(row[c]));
  return out;
}

int table::width() const {
  int out = 0;
  for (const int wide : widths()) out += static_cast<int>(gap.size()) + wide;
  return out;
}

std::string table::text() const {
  const std::vector<int> widths = this->widths();
  std::string out, titles;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    titles += std::string(gap) + faint(in_column(columns_[c].title, widths[c], columns_[c].align));
  add_line(out, titles);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += std::string(gap) + (spans(row, c) ? row[c] : in_column(row[c], widths[c], columns_[c].align));
    add_line(out, line);
  }
  return out;
}

progress_bar::progress_bar(std::string label)
    : label_(std::move(label)), is_wanted_(is_terminal(STDERR_FILENO)), next_(clock::now() + delay) {}

progress_bar::~progress_bar() { erase_progress(); }

void progress_bar::show(double part) {
  if (!is_wanted_ || clock::now() < next_) return;
  next_ = clock::now() + refresh;
  part = std::clamp(part, 0.0, 1.0);
  // A line that wraps could not be erased, so the label is shortened.
  const auto room =
      static_cast<std::size_t>(std::max(0, terminal_size(STDERR_FILENO).columns - bar_width - 10));
  is_drawn = true;
  write_error(fmt::format("\r\x1b[K{} {} {:3.0f} %", shorten_label(label_, room),
                          bar_of(part, bar_width, "░"), 100 * part));
}

std::string shorten_label(std::string_view label, std::size_t room) {
  if (label.size() <= room) return std::string(label);
  const std::size_t verb = std::min(label.find(' '), label.size() - 1) + 1;  // with the blank after it
  if (room <= verb) return std::string(label.substr(0, room));
  std::string_view end = label.substr(label.size() - (room - verb - 1));
  while (!end.empty() && (static_cast<unsigned char>(end[0]) & 0xC0) == 0x80) end.remove_prefix(1);
  return fmt::format("{}…{}", label.substr(0, verb), end);
}

void erase_progress() noexcept {
  if (is_drawn.exchange(false)) write_error("\r\x1b[K");
}

}  // namespace nz::cli
