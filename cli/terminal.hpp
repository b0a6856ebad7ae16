#pragma once

#include <string>
#include <string_view>

namespace nz::cli {

bool is_terminal(int descriptor);

struct extent {
  int columns = 80, lines = 40;
};
/// The size of the terminal behind `descriptor`; else COLUMNS; else 80. Forty lines where there is no screen.
extent terminal_size(int descriptor);

/// Whether standard output may be coloured: a terminal that is not dumb, and NO_COLOR is not set.
bool has_colour();

/// The text in bold, red, … on a terminal with colour; as it is elsewhere.
std::string bold(std::string_view text);
std::string faint(std::string_view text);
std::string red(std::string_view text);
std::string green(std::string_view text);
std::string yellow(std::string_view text);

/// A horizontal bar that fills `part` (0 to 1) of `width` characters, to an eighth of a character. The rest
/// is filled with `empty`, or left out when that is empty.
std::string bar_of(double part, int width, std::string_view empty = "");

}  // namespace nz::cli
