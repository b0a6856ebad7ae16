#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Pictures: pixels, and a canvas to draw on.
namespace nz::cli {

using rgb = std::array<std::uint8_t, 3>;

struct image {
  int width = 0, height = 0;
  std::vector<rgb> pixels;  // row by row, width*height long

  image(int w, int h, rgb colour)
      : width(w), height(h), pixels(static_cast<std::size_t>(w) * static_cast<std::size_t>(h), colour) {}
  /// Fills a rectangle, clipped to the image.
  void fill(int x, int y, int w, int h, rgb colour);
};

/// Interpolates between the colours of a ramp (at least two): 0 and NaN give the first, 1 the last.
rgb colour_on(std::span<const rgb> ramp, double part);

/// Writes a PNG file atomically.
void write_png(const std::string& path, const image& picture);

struct box {
  double left, top, width, height;
};

/// A white canvas. A unit is two pixels; y grows downwards.
class canvas {
 public:
  enum class align { left, centre, right };
  struct point {
    double x, y;
  };

  canvas(double width, double height);
  ~canvas();
  canvas(const canvas&) = delete;
  canvas& operator=(const canvas&) = delete;

  void line(double x1, double y1, double x2, double y2, rgb colour, double thickness = 1);
  /// A line through the points, clipped to `inside`. A point that is not finite is a gap.
  void path(std::span<const point> points, const box& inside, rgb colour);
  void outline(const box& around, rgb colour);
  void fill(const box& all_of, rgb colour);
  void dot(point centre, double radius, rgb colour);
  /// With its baseline at y; returns its width.
  double text(const std::string& words, double x, double y, double size, rgb colour, align at);
  double text_width(const std::string& words, double size);
  /// Rotated to read upwards, centred at (x, y).
  void upward_text(const std::string& words, double x, double y, double size, rgb colour);
  /// Scaled to the box. Pixels that shrink are averaged; pixels that grow stay squares.
  void picture(const image& pixels, const box& in);
  /// Writes a PNG file atomically.
  void write(const std::string& path);

 private:
  struct drawing;
  std::unique_ptr<drawing> on_;
};

/// Drops points that do not change the picture: of each column of that width, the first, lowest, highest and
/// last point stay, and all that are not finite.
std::vector<canvas::point> thin_out(std::span<const canvas::point> points, double column);

}  // namespace nz::cli
