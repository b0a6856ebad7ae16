#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/shapes.hpp>

namespace nz {

void require_vectors_fit(index rows, index cols, std::size_t x_length, std::size_t y_length) {
  if (x_length != static_cast<std::size_t>(cols))
    throw shape_error(fmt::format("x is {} long but the matrix has {} columns", x_length, cols));
  if (y_length != static_cast<std::size_t>(rows))
    throw shape_error(fmt::format("y is {} long but the matrix has {} rows", y_length, rows));
}

}  // namespace nz
