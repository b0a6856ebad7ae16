#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "spy_picture.hpp"

namespace nz::cli {
namespace {

constexpr int dots_across = 2, dots_down = 4;  // in a braille character

/// From blue to orange, in the colours of a 256-colour terminal; seen on light and dark ground alike.
constexpr int ramp[] = {67, 68, 74, 73, 72, 107, 143, 179, 215, 209};

bool fits_in_squares(index rows, index cols, text_space space) {
  return 2 * std::int64_t{cols} + 1 <= space.columns && rows <= space.lines;
}

std::string in_colour(double shade, std::string_view text) {
  const auto step = static_cast<std::size_t>(std::lround(shade * (std::size(ramp) - 1)));
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", ramp[std::min(step, std::size(ramp) - 1)], text);
}

/// Each entry a square: " ■ · ".
std::string draw_squares(const density_grid& grid, int y, bool with_colour) {
  std::string out;
  for (int x = 0; x < grid.width; ++x) {
    const bool is_entry = grid.at(x, y) > 0;
    const std::string_view mark = is_entry ? "■" : "·";
    out += ' ';
    out +=
        with_colour ? fmt::format("\x1b[{}m{}\x1b[0m", is_entry ? "38;5;74" : "2", mark) : std::string(mark);
  }
  return out + ' ';
}

/// Which dots are set. In a picture that is mostly dots, a dot stands for its cell only if the cell is fuller
/// than a threshold that differs from dot to dot (ordered dithering): half full, half of the dots.
struct dot_rule {
  bool is_thinned = false;

  bool is_set(const density_grid& grid, int x, int y) const {
    constexpr double thresholds[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    if (x >= grid.width || y >= grid.height || grid.at(x, y) == 0) return false;
    return !is_thinned || grid.shade(x, y) > (thresholds[y % 4][x % 4] + 0.5) / 16;
  }
};

dot_rule choose_rule(const density_grid& grid, bool with_colour) {
  const auto set = std::count_if(grid.count.begin(), grid.count.end(), [](offset n) { return n > 0; });
  return {!with_colour && grid.largest > 1 && 2 * set > static_cast<std::ptrdiff_t>(grid.count.size())};
}

/// The braille character for the dots from (left, top) on.
std::string draw_dots(const density_grid& grid, int left, int top, dot_rule rule, bool with_colour) {
  constexpr unsigned bits[dots_down][dots_across] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  unsigned pattern = 0;
  double shade = 0;
  for (int y = 0; y < dots_down; ++y)
    for (int x = 0; x < dots_across; ++x)
      if (rule.is_set(grid, left + x, top + y)) {
        pattern |= bits[y][x];
        shade = std::max(shade, grid.shade(left + x, top + y));
      }
  if (pattern == 0) return " ";
  const char utf8[] = {'\xE2', static_cast<char>(0xA0 | (pattern >> 6)),
                       static_cast<char>(0x80 | (pattern & 0x3F))};
  const std::string_view character(utf8, sizeof utf8);
  return with_colour ? in_colour(grid.largest == 1 ? 0.2 : shade, character) : std::string(character);
}

std::string horizontal(int width, std::string_view left, std::string_view right) {
  std::string out(left);
  for (int i = 0; i < width; ++i) out += "─";
  return out.append(right) + "\n";
}

}  // namespace

template <class V> density_grid find_text_density(const csr<V>& a, text_space space) {
  if (fits_in_squares(a.rows, a.cols, space))
    return find_density(a, std::max(a.cols, 1), std::max(a.rows, 1));
  return find_density(a, dots_across * space.columns, dots_down * space.lines);
}

std::string draw_text(const density_grid& grid, text_space space, bool with_colour) {
  const bool in_squares = grid.is_one_to_one() && fits_in_squares(grid.height, grid.width, space);
  const int width = in_squares ? 2 * grid.width + 1 : (grid.width + dots_across - 1) / dots_across;
  const int line_height = in_squares ? 1 : dots_down;
  const dot_rule rule = choose_rule(grid, with_colour);
  std::string out = horizontal(width, "┌", "┐");
  for (int y = 0; y < grid.height; y += line_height) {
    out += "│";
    if (in_squares) out += draw_squares(grid, y, with_colour);
    for (int x = 0; !in_squares && x < grid.width; x += dots_across)
      out += draw_dots(grid, x, y, rule, with_colour);
    out += "│\n";
  }
  return out + horizontal(width, "└", "┘");
}

template density_grid find_text_density(const csr<float>&, text_space);
template density_grid find_text_density(const csr<double>&, text_space);

}  // namespace nz::cli
