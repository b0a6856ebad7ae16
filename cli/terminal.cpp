#include "terminal.hpp"

#include <algorithm>
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

std::string bar_of(double part, int width, std::string_view empty) {
  constexpr std::string_view segments[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(part * width * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += segments[eighths % 8];
  for (int used = (eighths + 7) / 8; used < width; ++used) out += empty;
  return out;
}

}  // namespace nz::cli
