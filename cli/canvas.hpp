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
  /// Fills the part of a rectangle that lies within the image.
  void fill(int x, int y, int w, int h, rgb colour);
};

/// The colour so far along a ramp of at least two: 0 is its first, 1 its last, NaN its first.
rgb colour_on(std::span<const rgb> ramp, double part);

/// Writes the image as a PNG file that is whole or not there.
void write_png(const std::string& path, const image& picture);

struct box {
  double left, top, width, height;
};

/// White paper to draw on, in units of which a pixel is half; y grows downwards.
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
  /// Through the points, as far as it is inside. Points that are not finite are gaps.
  void path(std::span<const point> points, const box& inside, rgb colour);
  void outline(const box& around, rgb colour);
  void fill(const box& all_of, rgb colour);
  void dot(point centre, double radius, rgb colour);
  /// Its baseline at y; returns how wide it is.
  double text(const std::string& words, double x, double y, double size, rgb colour, align at);
  double text_width(const std::string& words, double size);
  /// Turned to read upwards, centred at (x, y).
  void upward_text(const std::string& words, double x, double y, double size, rgb colour);
  /// Stretched to fill the box. Pixels that are smaller in it are averaged, those that are larger stay
  /// squares.
  void picture(const image& pixels, const box& in);
  /// A PNG file that is whole or not there.
  void write(const std::string& path);

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// Fewer points of a path that looks the same: of those in a column so wide the first, the lowest, the
/// highest and the last. Points that are not finite stay.
std::vector<canvas::point> thin_out(std::span<const canvas::point> points, double column);

}  // namespace nz::cli
