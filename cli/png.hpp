#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nz::cli {

using rgb = std::array<std::uint8_t, 3>;

struct image {
  int width = 0, height = 0;
  std::vector<rgb> pixels;  // row by row, width*height long

  image(int w, int h, rgb colour)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), colour) {}
  /// Fills the part of a rectangle that lies within the image.
  void fill(int x, int y, int w, int h, rgb colour);
};

/// The colour so far along a ramp of at least two: 0 is its first, 1 its last, NaN its first.
rgb colour_on(std::span<const rgb> ramp, double part);

/// Writes the image as a PNG file that is whole or not there.
void write_png(const std::string& path, const image& picture);

}  // namespace nz::cli
