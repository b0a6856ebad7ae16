#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <cairo.h>
#include <cli/chart.hpp>
#include <gtest/gtest.h>

#include <nonzero/core/errors.hpp>

#include "tests/temporary_folder.hpp"

namespace {

using nz::cli::rgb;

nz::cli::image read_png(const std::string& path) {
  cairo_surface_t* const found = cairo_image_surface_create_from_png(path.c_str());
  EXPECT_EQ(cairo_surface_status(found), CAIRO_STATUS_SUCCESS) << path;
  nz::cli::image out(cairo_image_surface_get_width(found), cairo_image_surface_get_height(found), {});
  for (int y = 0; y < out.height; ++y) {
    const auto* line = reinterpret_cast<const std::uint32_t*>(
        cairo_image_surface_get_data(found) + std::ptrdiff_t{y} * cairo_image_surface_get_stride(found));
    std::transform(line, line + out.width, out.pixels.begin() + std::ptrdiff_t{y} * out.width,
                   [](std::uint32_t c) {
                     return rgb{static_cast<std::uint8_t>(c >> 16), static_cast<std::uint8_t>(c >> 8),
                                static_cast<std::uint8_t>(c)};
                   });
  }
  cairo_surface_destroy(found);
  return out;
}

/// How many pixels have nearly this colour.
int count(const nz::cli::image& in, rgb colour) {
  int found = 0;
  for (const rgb& pixel : in.pixels) {
    int off = 0;
    for (int c = 0; c < 3; ++c) off = std::max(off, std::abs(pixel[c] - colour[c]));
    found += off <= 2;
  }
  return found;
}

TEST(ChartTicks, AreRoundAndInsideTheAxis) {
  EXPECT_EQ(nz::cli::ticks_of({"", 0, 1}, 5), (std::vector<double>{0, 0.2, 0.4, 0.6000000000000001, 0.8, 1}));
  EXPECT_EQ(nz::cli::ticks_of({"", -3, 12}, 4), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(nz::cli::ticks_of({"", 990, 1010}, 4), (std::vector<double>{990, 995, 1000, 1005, 1010}));
  EXPECT_EQ(nz::cli::tick_label(0.6000000000000001), "0.6");
  EXPECT_EQ(nz::cli::tick_label(-0.0), "0");
}

TEST(ChartTicks, AreWholeWhereOnlyWholeNumbersMakeSense) {
  EXPECT_EQ(nz::cli::ticks_of({"", 0, 3, false, true}, 8), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(nz::cli::ticks_of({"", 0, 1, false, true}, 8), (std::vector<double>{0, 1}));
  EXPECT_EQ(nz::cli::ticks_of({"", 0, 40, false, true}, 4), (std::vector<double>{0, 10, 20, 30, 40}));
}

TEST(ChartTicks, AreFewWhereTheAxisIsHardlyMoreThanRounding) {
  for (const double low : {1.0, 1e17, -3e300})
    EXPECT_LE(nz::cli::ticks_of({"", low, std::nextafter(low, 1e308)}, 8).size(), 17U);
}

TEST(ChartTicks, ArePowersOfTenOnALogarithmicAxis) {
  EXPECT_EQ(nz::cli::ticks_of({"", 0.002, 300, true}, 8), (std::vector<double>{0.01, 0.1, 1, 10, 100}));
  EXPECT_LE(nz::cli::ticks_of({"", 1e-16, 1, true}, 6).size(), 6U);
}

TEST(ChartColours, GoFromDarkToLight) {
  int before = -1;
  for (int i = 0; i <= 20; ++i) {
    const rgb c = nz::cli::heat_colour(i / 20.0);
    const int light = 2 * c[0] + 3 * c[1] + c[2];
    EXPECT_GT(light, before) << i;
    before = light;
  }
  EXPECT_EQ(nz::cli::heat_colour(-1), nz::cli::heat_colour(0));
  EXPECT_EQ(nz::cli::heat_colour(7), nz::cli::heat_colour(1));
  EXPECT_EQ(nz::cli::heat_colour(std::nan("")), nz::cli::heat_colour(0));
}

TEST(Charts, ShowLinesAndLeaveGapsWhereThereIsNoNumber) {
  const temporary_folder in;
  const std::string path = in.path / "a.png";
  const double gap = std::nan("");
  const auto blue_with = [&](std::vector<double> y) {
    nz::cli::write_chart(path, nz::cli::line_chart{.title = "t",
                                                   .x = {"step", 0, 4},
                                                   .y = {"residual", 1e-4, 1, true},
                                                   .lines = {{"", {0, 1, 2, 3, 4}, std::move(y)}}});
    return count(read_png(path), {38, 98, 186});
  };
  const int whole = blue_with({1, 1e-1, 1e-2, 1e-3, 1e-4});
  EXPECT_GT(whole, 1000);
  const int with_gap = blue_with({1, 1e-1, gap, 1e-3, 1e-4});
  EXPECT_GT(with_gap, whole / 3);
  EXPECT_LT(with_gap, whole * 2 / 3);
  EXPECT_EQ(blue_with({0, 0, 0, 0, 0}), 0);  // no logarithm
}

TEST(Charts, KeepTheirLegendReadableAboveACurve) {
  const temporary_folder in;
  const std::string path = in.path / "a.png";
  // A curve that fills all of the chart leaves the legend's paper white.
  nz::cli::line_chart chart{.title = "t",
                            .x = {"x", 0, 20'000},
                            .y = {"y", 0, 1},
                            .lines = {{"", {}, {}}, {"a dot", {10'000}, {0.5}, true}}};
  for (int i = 0; i <= 20'000; ++i) {
    chart.lines[0].x.push_back(i);
    chart.lines[0].y.push_back(i % 2);
  }
  const auto whites_inside = [&] {
    nz::cli::write_chart(path, chart);
    const nz::cli::image found = read_png(path);
    constexpr int left = 2 * (960 - 40) - 10 - 300, top = 2 * 56 + 10;
    nz::cli::image inside(300, 60, {});
    for (int y = 0; y < inside.height; ++y) {
      const rgb* const row = found.pixels.data() + std::ptrdiff_t{top + y} * found.width + left;
      std::copy_n(row, inside.width, inside.pixels.data() + std::ptrdiff_t{y} * inside.width);
    }
    return count(inside, {255, 255, 255});
  };
  EXPECT_GT(whites_inside(), 2000);
  EXPECT_GT(count(read_png(path), {214, 88, 30}), 150);  // the dot, and the one in the legend
  chart.lines[1].name = "";
  EXPECT_LT(whites_inside(), 200);
}

TEST(Charts, AreDrawnFromTheExtremesOfEachColumn) {
  using point = nz::cli::chart_point;
  const double gap = std::nan("");
  std::vector<point> points(1000);
  for (int i = 0; i < 1000; ++i)
    points[static_cast<std::size_t>(i)] = {i / 500.0, i % 10 == 3 ? -1.0 * i : 1.0 * i};
  points.push_back({2.5, gap});
  points.push_back({2.6, 7});
  const std::vector<point> few = nz::cli::thin_out(points, 1);
  std::vector<double> heights(few.size());
  std::transform(few.begin(), few.end(), heights.begin(), [](const point& p) { return p.y; });
  ASSERT_EQ(heights.size(), 8U);
  EXPECT_TRUE(std::isnan(heights[6]));
  heights[6] = 0;
  EXPECT_EQ(heights, (std::vector<double>{0, -493, 499, 500, -993, 999, 0, 7}));
  const std::vector<point> sparse{{0, 1}, {1, 3}, {2, 2}};
  EXPECT_EQ(nz::cli::thin_out(sparse, 1).size(), 3U);
}

TEST(Charts, ShowAFieldTheRightWayUp) {
  const temporary_folder in;
  const std::string path = in.path / "field.png";
  // Cold at the bottom, hot at the top.
  nz::cli::write_chart(path, nz::cli::field_chart{.title = "t",
                                                  .x = {"x", 0, 1},
                                                  .y = {"t", 0, 1},
                                                  .colour = {"temperature", 0, 1},
                                                  .field = {2, 2, {0, 0, 1, 1}},
                                                  .is_square = true});
  const nz::cli::image found = read_png(path);
  const auto pixel = [&](int x, int y) {
    return found.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(found.width) +
                        static_cast<std::size_t>(x)];
  };
  const int x = 2 * 104 + 100;
  EXPECT_EQ(pixel(x, 2 * 56 + 100), nz::cli::heat_colour(1));
  EXPECT_EQ(pixel(x, found.height - 2 * 72 - 100), nz::cli::heat_colour(0));
}

TEST(Charts, WithoutExtentAreDrawnAllTheSame) {
  const temporary_folder in;
  const std::string path = in.path / "flat.png";
  nz::cli::write_chart(
      path, nz::cli::line_chart{
                .title = "one point", .x = {"x", 3, 3}, .y = {"y", 2, 2, true}, .lines = {{"a", {3}, {2}}}});
  EXPECT_GT(read_png(path).width, 0);
}

TEST(Charts, LeaveNothingBehindWhereTheyCannotBeWritten) {
  const temporary_folder in;
  EXPECT_THROW(nz::cli::write_chart((in.path / "nowhere" / "a.png").string(), nz::cli::line_chart{}),
               nz::error);
  EXPECT_TRUE(std::filesystem::is_empty(in.path));
}

}  // namespace
