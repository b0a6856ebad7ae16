#pragma once

#include <cstddef>

#include <nonzero/core/types.hpp>

namespace nz {

/// Throws `shape_error` unless x is as long as the matrix has columns and y as it has rows.
void require_vectors_fit(index rows, index cols, std::size_t x_length, std::size_t y_length);

}  // namespace nz
