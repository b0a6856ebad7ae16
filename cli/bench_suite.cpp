#include "bench_suite.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

namespace nz::cli {
namespace {

/// What a large matrix is to take as CSR in double.
double target_bytes(const device& on) {
  constexpr double mebibyte = 1 << 20;
  if (on.kind() == device_kind::emulator) return 2e4 * 12;  // some 20,000 entries
  const double wanted =
      std::clamp(6.0 * static_cast<double>(on.cache_bytes()), 64 * mebibyte, 1024 * mebibyte);
  return std::min(wanted, static_cast<double>(on.memory_bytes()) / 16);
}

/// The size at which a matrix of `dimensions` takes `bytes`, given what a node of it takes; to two digits,
/// so that it can be typed.
int size_for(double bytes, double bytes_per_node, int dimensions) {
  const double size = std::pow(bytes / bytes_per_node, 1.0 / dimensions);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(size)) - 1));
  return static_cast<int>(std::max(1.0, std::round(size / unit)) * unit);
}

/// A row of CSR: 12 bytes per entry and a 4-byte offset.
constexpr double row_bytes(double entries) { return 12 * entries + 4; }

}  // namespace

std::vector<std::string> suite_for(const device& on) {
  const double bytes = target_bytes(on);
  const bool is_emulated = on.kind() == device_kind::emulator;
  const auto rmat_vertices = static_cast<unsigned>(bytes / row_bytes(16));
  return {
      fmt::format("tridiagonal:{}", size_for(bytes, row_bytes(3), 1)),
      fmt::format("poisson2d:{}", size_for(bytes, row_bytes(5), 2)),
      fmt::format("poisson3d:{}", size_for(bytes, row_bytes(7), 3)),
      fmt::format("poisson27:{}", size_for(bytes, row_bytes(27), 3)),
      fmt::format("fem:{}", size_for(bytes, 3 * row_bytes(81), 3)),
      fmt::format("rmat:{}", std::bit_width(rmat_vertices) - 1),
      fmt::format("uniform:{}", size_for(bytes, row_bytes(16), 1)),
      fmt::format("dense_rows:{}:8:2", size_for(bytes, row_bytes(8 + 2), 1)),
      fmt::format("empty_rows:{}", size_for(bytes, row_bytes(1.6), 1)),
      is_emulated ? "poisson2d:20" : "poisson2d:100",
      is_emulated ? "rmat:6" : "rmat:10",
  };
}

}  // namespace nz::cli
