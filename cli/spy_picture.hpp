#pragma once

#include <string>

#include "density.hpp"
#include "png.hpp"

namespace nz::cli {

/// How many characters a picture in the terminal may take, its frame not counted.
struct text_space {
  int columns, lines;
};

/// The cells that fit: a small matrix gets two characters for each entry, a larger one an eighth of one.
template <class V> density_grid find_text_density(const csr<V>& a, text_space space);

/// The pattern in characters, framed; each line ends with a newline. Fuller cells are brighter where there is
/// colour; where there is none and the picture would be black, dots are thinned out by density.
std::string draw_text(const density_grid& grid, text_space space, bool with_colour);

/// The cells for a picture of at most `size` pixels each way.
template <class V> density_grid find_image_density(const csr<V>& a, int size);

/// The pattern in pixels, framed, its longer side near `size` pixels. An entry of a small matrix is a square.
image draw_image(const density_grid& grid, int size);

}  // namespace nz::cli
