#include "canvas.hpp"

#include <algorithm>
#include <cmath>

#include <cairo.h>
#include <fmt/format.h>
#include <png.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz::cli {
namespace {

constexpr double scale = 2;  // pixels per unit, for sharp text
constexpr double quarter_turn = 1.5707963267948966;

struct release {
  void operator()(cairo_t* p) const { cairo_destroy(p); }
  void operator()(cairo_surface_t* p) const { cairo_surface_destroy(p); }
};
using surface = std::unique_ptr<cairo_surface_t, release>;

void use(cairo_t* pen, rgb colour) {
  cairo_set_source_rgb(pen, colour[0] / 255.0, colour[1] / 255.0, colour[2] / 255.0);
}

void use_font(cairo_t* pen, double size) {
  cairo_select_font_face(pen, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(pen, size);
}

double width_of(cairo_t* pen, const std::string& words) {
  cairo_text_extents_t extents;
  cairo_text_extents(pen, words.c_str(), &extents);
  return extents.x_advance;
}

cairo_status_t append(void* to, const unsigned char* bytes, unsigned count) {
  auto& all = *static_cast<std::vector<unsigned char>*>(to);
  all.insert(all.end(), bytes, bytes + count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

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

struct canvas::drawing {
  surface paper;
  std::unique_ptr<cairo_t, release> pen;
};

canvas::canvas(double width, double height) : on_(std::make_unique<drawing>()) {
  on_->paper.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(scale * width),
                                              static_cast<int>(scale * height)));
  on_->pen.reset(cairo_create(on_->paper.get()));
  cairo_scale(on_->pen.get(), scale, scale);
  cairo_set_source_rgb(on_->pen.get(), 1, 1, 1);
  cairo_paint(on_->pen.get());
}

canvas::~canvas() = default;

void canvas::line(double x1, double y1, double x2, double y2, rgb colour, double thickness) {
  cairo_t* pen = on_->pen.get();
  use(pen, colour);
  cairo_set_line_width(pen, thickness);
  cairo_move_to(pen, x1, y1);
  cairo_line_to(pen, x2, y2);
  cairo_stroke(pen);
}

void canvas::path(std::span<const point> points, const box& inside, rgb colour) {
  cairo_t* pen = on_->pen.get();
  cairo_save(pen);
  cairo_rectangle(pen, inside.left, inside.top, inside.width, inside.height);
  cairo_clip(pen);
  use(pen, colour);
  cairo_set_line_width(pen, 2);
  cairo_set_line_join(pen, CAIRO_LINE_JOIN_ROUND);
  bool is_down = false;
  for (const point& p : points) {
    const bool is_point = std::isfinite(p.x) && std::isfinite(p.y);
    if (is_point) (is_down ? cairo_line_to : cairo_move_to)(pen, p.x, p.y);
    is_down = is_point;
  }
  cairo_stroke(pen);
  cairo_restore(pen);
}

void canvas::outline(const box& around, rgb colour) {
  cairo_t* pen = on_->pen.get();
  use(pen, colour);
  cairo_set_line_width(pen, 1);
  cairo_rectangle(pen, around.left, around.top, around.width, around.height);
  cairo_stroke(pen);
}

void canvas::fill(const box& all_of, rgb colour) {
  cairo_t* pen = on_->pen.get();
  use(pen, colour);
  cairo_rectangle(pen, all_of.left, all_of.top, all_of.width, all_of.height);
  cairo_fill(pen);
}

void canvas::dot(point centre, double radius, rgb colour) {
  cairo_t* pen = on_->pen.get();
  use(pen, colour);
  cairo_new_sub_path(pen);
  cairo_arc(pen, centre.x, centre.y, radius, 0, 4 * quarter_turn);
  cairo_fill(pen);
}

double canvas::text_width(const std::string& words, double size) {
  use_font(on_->pen.get(), size);
  return width_of(on_->pen.get(), words);
}

double canvas::text(const std::string& words, double x, double y, double size, rgb colour, align at) {
  cairo_t* pen = on_->pen.get();
  use_font(pen, size);
  use(pen, colour);
  const double wide = width_of(pen, words);
  cairo_move_to(pen, x - (at == align::centre ? wide / 2 : at == align::right ? wide : 0), y);
  cairo_show_text(pen, words.c_str());
  return wide;
}

void canvas::upward_text(const std::string& words, double x, double y, double size, rgb colour) {
  cairo_t* pen = on_->pen.get();
  cairo_save(pen);
  cairo_translate(pen, x, y);
  cairo_rotate(pen, -quarter_turn);
  text(words, 0, 0, size, colour, align::centre);
  cairo_restore(pen);
}

void canvas::picture(const image& pixels, const box& in) {
  const surface copy(cairo_image_surface_create(CAIRO_FORMAT_RGB24, pixels.width, pixels.height));
  if (cairo_surface_status(copy.get()) != CAIRO_STATUS_SUCCESS) return;  // write() reports it
  unsigned char* bytes = cairo_image_surface_get_data(copy.get());
  const int stride = cairo_image_surface_get_stride(copy.get());
  for (int y = 0; y < pixels.height; ++y)
    for (int x = 0; x < pixels.width; ++x) {
      const rgb& c = pixels.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(pixels.width) +
                                   static_cast<std::size_t>(x)];
      auto* to = reinterpret_cast<std::uint32_t*>(bytes + static_cast<std::ptrdiff_t>(y) * stride) + x;
      *to = std::uint32_t{c[0]} << 16 | std::uint32_t{c[1]} << 8 | c[2];
    }
  cairo_surface_mark_dirty(copy.get());
  cairo_t* pen = on_->pen.get();
  cairo_save(pen);
  cairo_rectangle(pen, in.left, in.top, in.width, in.height);
  cairo_clip(pen);
  cairo_translate(pen, in.left, in.top);
  cairo_scale(pen, in.width / pixels.width, in.height / pixels.height);
  cairo_set_source_surface(pen, copy.get(), 0, 0);
  const bool is_magnified = in.width * scale >= pixels.width && in.height * scale >= pixels.height;
  cairo_pattern_set_filter(cairo_get_source(pen), is_magnified ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
  cairo_paint(pen);
  cairo_restore(pen);
}

void canvas::write(const std::string& path) {
  std::vector<unsigned char> bytes;
  cairo_status_t status = cairo_status(on_->pen.get());
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_write_to_png_stream(on_->paper.get(), append, &bytes);
  if (status != CAIRO_STATUS_SUCCESS)
    throw error(fmt::format("{}: cannot make the picture: {}", path, cairo_status_to_string(status)));
  output_file file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

std::vector<canvas::point> thin_out(std::span<const canvas::point> points, double column) {
  const auto is_finite = [](const canvas::point& p) { return std::isfinite(p.x) && std::isfinite(p.y); };
  const auto lower = [](const canvas::point& a, const canvas::point& b) { return a.y < b.y; };
  std::vector<canvas::point> out;
  for (auto begin = points.begin(); begin != points.end();) {
    const double place = std::floor(begin->x / column);
    const auto end = std::find_if_not(begin + 1, points.end(), [&](const canvas::point& p) {
      return is_finite(*begin) && is_finite(p) && std::floor(p.x / column) == place;
    });
    auto [low, high] = std::minmax_element(begin, end, lower);
    if (high < low) std::swap(low, high);  // keeps the order of the path
    for (auto at = begin; at != end; ++at)
      if (at == begin || at == low || at == high || at == end - 1) out.push_back(*at);
    begin = end;
  }
  return out;
}

}  // namespace nz::cli
