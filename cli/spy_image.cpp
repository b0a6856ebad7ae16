#include <algorithm>

#include "spy_picture.hpp"

namespace nz::cli {
namespace {

constexpr rgb paper = {255, 255, 255};
constexpr rgb frame = {176, 182, 194};
constexpr rgb empty_square = {243, 244, 248};

/// Light to dark: sky, blue, indigo, near black. The lightest still stands out from the paper.
constexpr rgb ramp[] = {{158, 210, 230}, {86, 160, 211}, {52, 104, 176}, {48, 52, 130}, {24, 12, 58}};

constexpr int largest_square = 48;  // pixels; a tiny matrix need not fill the picture
constexpr int least_square_with_gap = 6;

/// Whether the entries are so few that single pixels would hardly be seen.
bool is_faint(const density_grid& grid) {
  const auto filled = std::count_if(grid.count.begin(), grid.count.end(), [](offset n) { return n > 0; });
  return 50 * filled < static_cast<std::ptrdiff_t>(grid.count.size());
}

}  // namespace

template <class V> density_grid find_image_density(const csr<V>& a, int size) {
  density_grid grid = find_density(a, size, size);
  if (grid.is_one_to_one() || size < 2 || !is_faint(grid)) return grid;
  return find_density(a, size / 2, size / 2);
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
      // Where no cell holds more than one entry there is no density to show: one colour, not too dark.
      const rgb colour =
          is_entry ? colour_on(ramp, grid.largest == 1 ? 0.55 : grid.shade(x, y)) : empty_square;
      out.fill(margin + gap + x * scale, margin + gap + y * scale, scale - gap, scale - gap, colour);
    }
  return out;
}

template density_grid find_image_density(const csr<float>&, int);
template density_grid find_image_density(const csr<double>&, int);

}  // namespace nz::cli
