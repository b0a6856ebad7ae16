#include "png.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <png.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz::cli {

void image::fill(int x, int y, int w, int h, rgb colour) {
  const int left = std::max(x, 0), right = std::min(x + w, width);
  for (int line = std::max(y, 0); line < std::min(y + h, height) && left < right; ++line) {
    const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(line) * width;
    std::fill(begin + left, begin + right, colour);
  }
}

rgb colour_on(std::span<const rgb> ramp, double part) {
  const double place = (part > 0 ? std::min(part, 1.0) : 0.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), ramp.size() - 2);
  const double rest = place - static_cast<double>(below);
  rgb out = {};
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = static_cast<std::uint8_t>(std::lround((1 - rest) * ramp[below][c] + rest * ramp[below + 1][c]));
  return out;
}

void write_png(const std::string& path, const image& picture) {
  png_image head = {};
  head.version = PNG_IMAGE_VERSION;
  head.width = static_cast<png_uint_32>(picture.width);
  head.height = static_cast<png_uint_32>(picture.height);
  head.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(head);
  std::vector<std::uint8_t> bytes(size);
  if (png_image_write_to_memory(&head, bytes.data(), &size, 0, picture.pixels.data(), 0, nullptr) == 0)
    throw error(fmt::format("{}: cannot make the picture: {}", path, head.message));
  output_file file(path);
  file.write(bytes.data(), size);
  file.commit();
}

}  // namespace nz::cli
