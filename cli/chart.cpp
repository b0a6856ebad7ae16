#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include <cairo.h>
#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/io/output_file.hpp>

namespace nz::cli {
namespace {

constexpr double scale = 2;  // pixels per unit, for sharp text
constexpr double height = 600, left_margin = 104, top_margin = 56, bottom_margin = 72;
constexpr rgb ink = {40, 44, 52}, grid_grey = {226, 229, 235}, frame_grey = {150, 156, 166};
constexpr rgb heat_ramp[] = {{10, 8, 30},    {62, 18, 100},  {142, 32, 104}, {208, 60, 72},
                             {243, 118, 40}, {252, 190, 70}, {255, 248, 205}};
constexpr rgb line_colours[] = {{38, 98, 186}, {214, 88, 30}, {32, 140, 96}, {150, 70, 170}};

struct release {
  void operator()(cairo_t* p) const { cairo_destroy(p); }
  void operator()(cairo_surface_t* p) const { cairo_surface_destroy(p); }
};
using surface = std::unique_ptr<cairo_surface_t, release>;

surface surface_of(const image& picture) {
  surface out(cairo_image_surface_create(CAIRO_FORMAT_RGB24, picture.width, picture.height));
  unsigned char* line = cairo_image_surface_get_data(out.get());
  if (line == nullptr) return out;  // write() reports it
  for (auto from = picture.pixels.begin(); from != picture.pixels.end(); from += picture.width) {
    std::transform(from, from + picture.width, reinterpret_cast<std::uint32_t*>(line),
                   [](const rgb& c) { return std::uint32_t{c[0]} << 16 | std::uint32_t{c[1]} << 8 | c[2]; });
    line += cairo_image_surface_get_stride(out.get());
  }
  cairo_surface_mark_dirty(out.get());
  return out;
}

void write(const std::string& path, cairo_surface_t* drawn, cairo_status_t status) {
  const auto append = [](void* to, const unsigned char* bytes, unsigned count) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
    return CAIRO_STATUS_SUCCESS;
  };
  std::string bytes;
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(drawn, append, &bytes);
  if (status != CAIRO_STATUS_SUCCESS)
    throw error(fmt::format("{}: cannot make the picture: {}", path, cairo_status_to_string(status)));
  output_file file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

struct box {
  double left, top, width, height;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

/// The position of a value on the axis: 0 at low, 1 at high.
double place_of(const chart_axis& axis, double value) {
  if (axis.is_log) return std::log(value / axis.low) / std::log(axis.high / axis.low);
  return (value - axis.low) / (axis.high - axis.low);
}

/// Widens an axis whose ends are equal, which would cause a division by 0.
chart_axis with_extent(chart_axis axis) {
  constexpr double least = 1e-12;  // relative; a smaller extent is rounding
  if (!std::isfinite(axis.low) || !std::isfinite(axis.high - axis.low)) axis.low = 0, axis.high = 1;
  const double size = std::max(std::abs(axis.low), std::abs(axis.high));
  if (axis.high - axis.low > least * size) return axis;
  axis.high = axis.is_log ? 10 * axis.low : axis.low + std::max(1.0, size);
  return axis;
}

rgb colour_of(std::size_t number) { return line_colours[number % std::size(line_colours)]; }

bool is_finite(chart_point p) { return std::isfinite(p.x) && std::isfinite(p.y); }

enum class align { left, centre, right };

/// A white sheet with a title above the box `inside`. A unit is two pixels; y grows downwards.
class sheet {
 public:
  sheet(const std::string& title, const box& area, double right) : inside(area) {
    paper_.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                            static_cast<int>(scale * (area.right() + right)),
                                            static_cast<int>(scale * height)));
    owner_.reset(cairo_create(paper_.get()));
    pen_ = owner_.get();
    cairo_scale(pen_, scale, scale);
    cairo_set_source_rgb(pen_, 1, 1, 1);
    cairo_paint(pen_);
    cairo_select_font_face(pen_, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    text(title, {area.left, 34}, 17, align::left);
  }

  void line(chart_point from, chart_point to, rgb colour, double thickness = 1) {
    cairo_move_to(pen_, from.x, from.y);
    cairo_line_to(pen_, to.x, to.y);
    stroke(colour, thickness);
  }

  /// A line through the points, clipped to `inside`. A point that is not finite is a gap.
  void path(std::span<const chart_point> points, rgb colour) {
    cairo_save(pen_);
    cairo_rectangle(pen_, inside.left, inside.top, inside.width, inside.height);
    cairo_clip(pen_);
    cairo_set_line_join(pen_, CAIRO_LINE_JOIN_ROUND);
    bool is_down = false;
    for (const chart_point& p : points) {
      if (is_finite(p)) (is_down ? cairo_line_to : cairo_move_to)(pen_, p.x, p.y);
      is_down = is_finite(p);
    }
    stroke(colour, 2);
    cairo_restore(pen_);
  }

  void outline(const box& around, rgb colour, bool is_filled = false) {
    cairo_rectangle(pen_, around.left, around.top, around.width, around.height);
    cairo_set_source_rgb(pen_, 1, 1, 1);
    if (is_filled) cairo_fill_preserve(pen_);
    stroke(colour, 1);
  }

  void dot(chart_point centre, rgb colour) {
    cairo_new_sub_path(pen_);
    cairo_arc(pen_, centre.x, centre.y, 4.5, 0, 2 * std::numbers::pi);
    use(colour);
    cairo_fill(pen_);
  }

  double text_width(const std::string& words, double size) {
    cairo_text_extents_t extents;
    cairo_set_font_size(pen_, size);
    cairo_text_extents(pen_, words.c_str(), &extents);
    return extents.x_advance;
  }

  /// With its baseline at at.y; returns its width.
  double text(const std::string& words, chart_point at, double size, align side) {
    const double wide = text_width(words, size);
    use(ink);
    cairo_move_to(pen_, at.x - (side == align::centre ? wide / 2 : side == align::right ? wide : 0), at.y);
    cairo_show_text(pen_, words.c_str());
    return wide;
  }

  /// Scaled to the box. Pixels that shrink are averaged; pixels that grow stay squares.
  void picture(const image& pixels, const box& in) {
    const surface copy = surface_of(pixels);
    cairo_save(pen_);
    cairo_rectangle(pen_, in.left, in.top, in.width, in.height);
    cairo_clip(pen_);
    cairo_translate(pen_, in.left, in.top);
    cairo_scale(pen_, in.width / pixels.width, in.height / pixels.height);
    cairo_set_source_surface(pen_, copy.get(), 0, 0);
    const bool is_magnified = in.width * scale >= pixels.width && in.height * scale >= pixels.height;
    cairo_pattern_set_filter(cairo_get_source(pen_), is_magnified ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_paint(pen_);
    cairo_restore(pen_);
    outline(in, frame_grey);
  }

  void ticks_below(const chart_axis& axis, bool with_grid) {
    for (const double tick : ticks_of(axis, 8)) {
      const double x = inside.left + place_of(axis, tick) * inside.width;
      if (with_grid) line({x, inside.top}, {x, inside.bottom()}, grid_grey);
      line({x, inside.bottom()}, {x, inside.bottom() + 5}, frame_grey);
      text(tick_label(tick), {x, inside.bottom() + 20}, 13, align::centre);
    }
    text(axis.label, {inside.left + inside.width / 2, inside.bottom() + 44}, 15, align::centre);
  }

  /// To the left of the box, or to its right.
  void ticks_beside(const box& of, const chart_axis& axis, bool with_grid, bool on_right) {
    const double edge = on_right ? of.right() : of.left, outwards = on_right ? 1 : -1;
    double widest = 0;
    for (const double tick : ticks_of(axis, 7)) {
      const double y = of.top + (1 - place_of(axis, tick)) * of.height;
      if (with_grid) line({of.left, y}, {of.right(), y}, grid_grey);
      line({edge, y}, {edge + 5 * outwards, y}, frame_grey);
      widest = std::max(widest, text(tick_label(tick), {edge + 9 * outwards, y + 4.5}, 13,
                                     on_right ? align::left : align::right));
    }
    cairo_save(pen_);  // the label reads upwards
    cairo_translate(pen_, edge + (widest + (on_right ? 30 : 20)) * outwards, of.top + of.height / 2);
    cairo_rotate(pen_, -std::numbers::pi / 2);
    text(axis.label, {0, 0}, 15, align::centre);
    cairo_restore(pen_);
  }

  void write(const std::string& path) { cli::write(path, paper_.get(), cairo_status(pen_)); }

  const box inside;

 private:
  void use(rgb colour) {
    cairo_set_source_rgb(pen_, colour[0] / 255.0, colour[1] / 255.0, colour[2] / 255.0);
  }
  void stroke(rgb colour, double thickness) {
    use(colour);
    cairo_set_line_width(pen_, thickness);
    cairo_stroke(pen_);
  }

  surface paper_;
  std::unique_ptr<cairo_t, release> owner_;
  cairo_t* pen_;
};

void draw_lines(sheet& on, const line_chart& chart) {
  constexpr double pixel = 1 / scale;
  const auto place = [&](double x, double y) {
    return chart_point{on.inside.left + place_of(chart.x, x) * on.inside.width,
                       on.inside.top + (1 - place_of(chart.y, y)) * on.inside.height};
  };
  for (std::size_t number = 0; const chart_line& line : chart.lines) {
    const rgb colour = colour_of(number++);
    std::vector<chart_point> points;
    for (std::size_t i = 0; i < std::min(line.x.size(), line.y.size()); ++i)
      points.push_back(place(line.x[i], line.y[i]));
    if (!line.is_dots) on.path(thin_out(points, pixel), colour);
    for (std::size_t i = 0; line.is_dots && i < points.size(); ++i) on.dot(points[i], colour);
  }
}

void draw_legend(sheet& on, const line_chart& chart) {
  constexpr double size = 13, line_height = 20, sample = 26, gap = 8;
  double widest = 0, lines = 0;
  for (const chart_line& line : chart.lines)
    if (!line.name.empty()) widest = std::max(widest, on.text_width(line.name, size)), ++lines;
  if (lines == 0) return;
  const double right = on.inside.right() - 14, wide = widest + gap + sample;
  const box around{right - wide - gap, on.inside.top + 8, wide + 2 * gap, line_height * lines + 8};
  on.outline(around, grid_grey, true);
  double y = on.inside.top + 22;
  for (std::size_t i = 0; i < chart.lines.size(); ++i) {
    if (chart.lines[i].name.empty()) continue;
    const double end = right - on.text(chart.lines[i].name, {right, y + 4.5}, size, align::right) - gap;
    if (chart.lines[i].is_dots)
      on.dot({end - sample / 2, y}, colour_of(i));
    else
      on.line({end - sample, y}, {end, y}, colour_of(i), 2.2);
    y += line_height;
  }
}

}  // namespace

void image::fill(int x, int y, int w, int h, rgb colour) {
  for (int line = y; line < y + h; ++line)
    std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(line) * width + x, w, colour);
}

rgb colour_on(std::span<const rgb> ramp, double place) {
  const double at = (place > 0 ? std::min(place, 1.0) : 0.0) * static_cast<double>(ramp.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), ramp.size() - 2);
  rgb out = {};
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = static_cast<std::uint8_t>(
        std::lround(std::lerp(ramp[below][c], ramp[below + 1][c], at - static_cast<double>(below))));
  return out;
}

rgb heat_colour(double heat) { return colour_on(heat_ramp, heat); }

void write_png(const std::string& path, const image& picture) {
  write(path, surface_of(picture).get(), CAIRO_STATUS_SUCCESS);
}

std::vector<double> ticks_of(const chart_axis& axis, int most) {
  std::vector<double> out;
  if (axis.is_log) {
    const double from = std::ceil(std::log10(axis.low) - 1e-9), to = std::floor(std::log10(axis.high) + 1e-9);
    const double step = std::max(1.0, std::ceil((to - from + 1) / most));
    for (double power = from; power <= to; power += step) out.push_back(std::pow(10.0, power));
    return out;
  }
  const double raw = (axis.high - axis.low) / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= raw * (1 - 1e-9)) step = factor * power;
  if (axis.is_whole) step = std::max(step, 1.0);
  // Multiples of the step: sums of it would accumulate rounding errors.
  const double first = std::ceil(axis.low / step - 1e-9), last = std::floor(axis.high / step + 1e-9);
  for (int i = 0; i <= 2 * most && first + i <= last; ++i) out.push_back((first + i) * step + 0.0);
  return out;
}

std::string tick_label(double tick) { return fmt::format("{:.6g}", tick == 0 ? 0.0 : tick); }

void write_chart(const std::string& path, const line_chart& given) {
  line_chart chart = given;
  chart.x = with_extent(chart.x);
  chart.y = with_extent(chart.y);
  sheet on(chart.title, {left_margin, top_margin, 816, height - top_margin - bottom_margin}, 40);
  on.ticks_below(chart.x, true);
  on.ticks_beside(on.inside, chart.y, true, false);
  draw_lines(on, chart);
  on.outline(on.inside, frame_grey);
  draw_legend(on, chart);
  on.write(path);
}

void write_chart(const std::string& path, const field_chart& chart) {
  const chart_axis across = with_extent(chart.x), up = with_extent(chart.y),
                   colour = with_extent(chart.colour);
  const double tall = height - top_margin - bottom_margin;
  const double wide = chart.is_square ? tall * (across.high - across.low) / (up.high - up.low) : 706;
  const small_field& field = chart.field;
  image pixels(std::max(field.columns, 1), std::max(field.rows, 1), heat_ramp[0]);
  for (int y = 0; y < field.rows; ++y)  // the top row is the last
    for (int x = 0; x < field.columns; ++x)
      pixels.fill(x, field.rows - 1 - y, 1, 1, heat_colour(place_of(colour, field.at(x, y))));
  sheet on(chart.title, {left_margin, top_margin, wide, tall}, 150);
  on.picture(pixels, on.inside);
  on.ticks_below(across, false);
  on.ticks_beside(on.inside, up, false, false);
  constexpr int shades = 256;
  image shade(1, shades, heat_ramp[0]);
  for (int i = 0; i < shades; ++i) shade.fill(0, i, 1, 1, heat_colour(1 - (i + 0.5) / shades));
  const box bar{on.inside.right() + 30, top_margin, 18, tall};
  on.picture(shade, bar);
  on.ticks_beside(bar, colour, false, true);
  on.write(path);
}

std::vector<chart_point> thin_out(std::span<const chart_point> points, double column) {
  const auto lower = [](chart_point a, chart_point b) { return a.y < b.y; };
  std::vector<chart_point> out;
  for (auto begin = points.begin(); begin != points.end();) {
    const double place = std::floor(begin->x / column);
    const auto end = std::find_if_not(begin + 1, points.end(), [&](chart_point p) {
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
