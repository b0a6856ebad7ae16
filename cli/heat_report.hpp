#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nonzero/algorithms/heat.hpp>
#include <nonzero/core/types.hpp>

#include "heat_picture.hpp"
#include "output.hpp"

namespace nz::cli {

/// What the command line of nz heat says.
struct heat_command {
  int dim = 1;
  std::optional<index> cells;  // a side; none: by the dimension, or by the file
  std::string boundary = "fixed", initial = "hot-centre", method = "fused", device = "cpu";
  std::string precision = "double", plot, out;  // files; empty: none
  std::optional<double> epsilon, time_step;     // none: the default
  std::optional<std::int64_t> steps;
  std::int64_t every = 0;  // 0: as suits the picture
  heat_options solve;
  bool json = false;
};

template <class V>
nlohmann::ordered_json as_json(const heat_command& command, const cell_grid& grid,
                               const heat_result<V>& found);

/// The figures, and a small picture: of a line over time where there is a history, else of the end.
template <class V>
void print_summary(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                   const heat_history& history);

/// The picture that the command asks for: a line over time, a square, or the middle slice of a cube.
template <class V>
void write_plot(const heat_command& command, const cell_grid& grid, const heat_result<V>& found,
                const heat_history& history);

}  // namespace nz::cli
