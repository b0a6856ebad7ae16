#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "chart.hpp"
#include "matrices.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

/// The number of entries in each cell of a grid over a matrix.
struct density_grid {
  int width = 0, height = 0;           // in cells
  index cell_rows = 1, cell_cols = 1;  // of the matrix, in each cell
  std::vector<offset> count;           // row by row
  offset largest = 0;                  // of the counts
  std::int64_t filled = 0;             // cells with entries

  offset at(int x, int y) const { return count[static_cast<std::size_t>(y) * width + x]; }
  bool is_one_to_one() const { return cell_rows == 1 && cell_cols == 1; }
  /// The count relative to the largest, 0 to 1. Logarithmic: the largest is often a thousand times the
  /// others.
  double shade(int x, int y) const {
    const auto log = [](offset n) { return std::log1p(static_cast<double>(n)); };
    return largest == 0 ? 0 : log(at(x, y)) / log(largest);
  }
};

constexpr int longest_shape = 16;  // a very long matrix is drawn as 16 to 1

/// How many cells of `size` cover `length`.
index cells_over(index length, index size) { return length / size + (length % size != 0); }

/// The smallest size with which at most `count` cells cover `length`.
index cell_size(index length, int count) { return std::max(index{1}, cells_over(length, count)); }

/// A grid of at most that many cells. All have the same size (otherwise the picture would show false
/// stripes), and are square, except for very long matrices.
template <class V> density_grid find_density(const csr<V>& a, int max_width, int max_height) {
  density_grid out;
  out.cell_rows = out.cell_cols = std::max(cell_size(a.cols, max_width), cell_size(a.rows, max_height));
  const int least_height = cells_over(cells_over(a.cols, out.cell_cols), longest_shape);
  const int least_width = cells_over(cells_over(a.rows, out.cell_rows), longest_shape);
  if (least_height > 0) out.cell_rows = std::min(out.cell_rows, cell_size(a.rows, least_height));
  if (least_width > 0) out.cell_cols = std::min(out.cell_cols, cell_size(a.cols, least_width));
  out.width = cells_over(a.cols, out.cell_cols);
  out.height = cells_over(a.rows, out.cell_rows);
  out.count.resize(static_cast<std::size_t>(out.width) * out.height);
  for (index i = 0; i < a.rows; ++i) {
    offset* line = out.count.data() + static_cast<std::size_t>(i / out.cell_rows) * out.width;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) ++line[a.col[k] / out.cell_cols];
  }
  for (const offset count : out.count) {
    out.largest = std::max(out.largest, count);
    out.filled += count > 0;
  }
  return out;
}

constexpr int dots_across = 2, dots_down = 4;  // in a braille character

/// From blue to orange in a 256-colour terminal; visible on light and dark backgrounds.
constexpr int ramp[] = {67, 68, 74, 73, 72, 107, 143, 179, 215, 209};

std::string in_colour(double shade, std::string_view text) {
  const auto step = static_cast<std::size_t>(std::lround(shade * (std::size(ramp) - 1)));
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", ramp[std::min(step, std::size(ramp) - 1)], text);
}

/// A row of a small matrix: " ■ · ".
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

/// Whether a dot is set: its cell has entries. A picture that would be mostly dots is thinned by ordered
/// dithering: the shade of the cell must exceed a threshold that differs from dot to dot.
bool is_set(const density_grid& grid, int x, int y, bool is_thinned) {
  constexpr double thresholds[4][4] = {{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
  if (x >= grid.width || y >= grid.height || grid.at(x, y) == 0) return false;
  return !is_thinned || grid.shade(x, y) > (thresholds[y % 4][x % 4] + 0.5) / 16;
}

/// The braille character for the dots from (left, top) on.
std::string draw_dots(const density_grid& grid, int left, int top, bool with_colour) {
  constexpr unsigned bits[dots_down][dots_across] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  const bool is_thinned = !with_colour && grid.largest > 1 && 2 * grid.filled > std::ssize(grid.count);
  unsigned pattern = 0;
  double shade = 0;
  for (int y = 0; y < dots_down; ++y)
    for (int x = 0; x < dots_across; ++x)
      if (is_set(grid, left + x, top + y, is_thinned)) {
        pattern |= bits[y][x];
        shade = std::max(shade, grid.shade(left + x, top + y));
      }
  if (pattern == 0) return " ";
  const char utf8[] = {'\xE2', static_cast<char>(0xA0 | (pattern >> 6)),
                       static_cast<char>(0x80 | (pattern & 0x3F))};
  const std::string_view character(utf8, sizeof utf8);
  return with_colour ? in_colour(grid.largest == 1 ? 0.2 : shade, character) : std::string(character);
}

/// A square for each entry, or braille dots, in a frame.
std::string draw_text(const density_grid& grid, bool in_squares, bool with_colour) {
  const int width = in_squares ? 2 * grid.width + 1 : (grid.width + dots_across - 1) / dots_across;
  const int line_height = in_squares ? 1 : dots_down;
  std::string out = frame_line(width, "┌", "┐");
  for (int y = 0; y < grid.height; y += line_height) {
    out += "│";
    if (in_squares) out += draw_squares(grid, y, with_colour);
    for (int x = 0; !in_squares && x < grid.width; x += dots_across)
      out += draw_dots(grid, x, y, with_colour);
    out += "│\n";
  }
  return out + frame_line(width, "└", "┘");
}

constexpr rgb paper = {255, 255, 255}, frame = {176, 182, 194}, empty_square = {243, 244, 248};

/// Light to dark: sky, blue, indigo, near black.
constexpr rgb pixel_ramp[] = {{158, 210, 230}, {86, 160, 211}, {52, 104, 176}, {48, 52, 130}, {24, 12, 58}};

constexpr int largest_square = 48;  // pixels, for an entry of a tiny matrix
constexpr int least_square_with_gap = 6;

template <class V> density_grid find_image_density(const csr<V>& a, int size) {
  density_grid grid = find_density(a, size, size);
  const bool is_faint = 50 * grid.filled < std::ssize(grid.count);  // single pixels would hardly be visible
  return grid.is_one_to_one() || size < 2 || !is_faint ? grid : find_density(a, size / 2, size / 2);
}

image draw_image(const density_grid& grid, int size) {
  const int scale = std::clamp(size / std::max({grid.width, grid.height, 1}), 1, largest_square);
  const int gap = grid.is_one_to_one() && scale >= least_square_with_gap ? std::max(1, scale / 12) : 0;
  const int margin = std::max(2, size / 64);
  const int width = grid.width * scale + gap, height = grid.height * scale + gap;
  image out(width + 2 * margin, height + 2 * margin, paper);
  out.fill(margin - 1, margin - 1, width + 2, height + 2, frame);
  out.fill(margin, margin, width, height, paper);
  for (int y = 0; y < grid.height; ++y)
    for (int x = 0; x < grid.width; ++x) {
      const bool is_entry = grid.at(x, y) > 0;
      if (!is_entry && gap == 0) continue;
      // Without cells of several entries there is no density to show: one colour.
      const rgb colour =
          is_entry ? colour_on(pixel_ramp, grid.largest == 1 ? 0.55 : grid.shade(x, y)) : empty_square;
      out.fill(margin + gap + x * scale, margin + gap + y * scale, scale - gap, scale - gap, colour);
    }
  return out;
}

constexpr int default_pixels = 1024;

struct spy_options {
  matrix_argument matrix;
  std::string out;  // empty: the terminal
  int size = 0;     // 0: the size of the terminal, or default_pixels
};

template <class V> void show_in_terminal(const spy_options& options, const csr<V>& a) {
  const extent screen = terminal_size(STDOUT_FILENO);
  extent space{options.size, options.size};
  // Without --size: the terminal, less the frame and the lines above and below the picture.
  if (options.size == 0) space = {std::max(8, screen.columns - 2), std::max(8, screen.lines - 5)};
  const bool in_squares = 2 * std::int64_t{a.cols} + 1 <= space.columns && a.rows <= space.lines;
  const density_grid grid = in_squares
                                ? find_density(a, std::max(a.cols, 1), std::max(a.rows, 1))
                                : find_density(a, dots_across * space.columns, dots_down * space.lines);
  print(title_text(options.matrix.name, a.rows, a.cols, a.nnz()) + "\n");
  print(draw_text(grid, in_squares, has_colour()));
  if (!grid.is_one_to_one())
    print(faint(fmt::format("a dot stands for {}", shape_text(grid.cell_rows, grid.cell_cols))) + "\n");
}

void run(const spy_options& options) {
  require_output(options.out, "a picture", {".png"});
  with_precision(options.matrix.precision, [&](auto zero) {
    const auto a = load_matrix<decltype(zero)>(options.matrix.name);
    if (options.out.empty()) return show_in_terminal(options, a);
    const int pixels = options.size > 0 ? options.size : default_pixels;
    write_png(output_path(options.out), draw_image(find_image_density(a, pixels), pixels));
  });
}

}  // namespace

void set_up_spy(command& c) {
  auto& options = c.runs(run);
  options.matrix.add_to(c);
  c.file("-o,--out", options.out, "Write a picture to this .png file, - for standard output");
  c.number("--size", options.size, "N", {1, 4096},
           "Longer side: pixels (1024), or characters in the terminal");
  c.footer(
      R"(A darker dot (in a terminal: a warmer one) stands for more entries, on a logarithmic scale.

Examples:
  nz spy west0067.mtx
  nz spy poisson2d:8
  nz spy web.mtx.gz -o web.png
  nz spy rmat:14 -o graph.png --size 2000)");
}

}  // namespace nz::cli
