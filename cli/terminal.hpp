#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Text for people: colours, tables, bars.
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

/// A horizontal line between two corners, with a newline.
std::string frame_line(int width, std::string_view left, std::string_view right);

/// A horizontal bar that fills `part` (0 to 1) of `width` characters, to an eighth of a character. The rest
/// is filled with `empty`, or left out when that is empty.
std::string bar_of(double part, int width, std::string_view empty = "");

/// How many columns of a terminal a UTF-8 text takes: one for each character, none for colours.
int display_width(std::string_view text);

/// Text in aligned columns under a line of titles.
class table {
 public:
  enum class side { left, right };
  struct column {
    std::string title;
    side align = side::left;
  };

  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
  /// A row may end early: its last cell then runs on over the columns it leaves out.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line indented by two.
  std::string text() const;
  /// How wide the text is, but for cells that run on.
  int width() const;

 private:
  bool runs_on(const std::vector<std::string>& row, std::size_t c) const {
    return c + 1 == row.size() && row.size() < columns_.size();
  }
  std::vector<int> widths() const;

  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A bar on standard error for work that has taken longer than a second. Only on a terminal; gone afterwards.
class progress_bar {
 public:
  explicit progress_bar(std::string label);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// `part` of the work is done, 0 to 1.
  void show(double part);

 private:
  using clock = std::chrono::steady_clock;
  std::string label_;
  bool is_wanted_;
  clock::time_point next_;
};

/// A verb and a name in no more room: the name's end is kept behind the verb, as "reading …/web.mtx".
std::string shorten_label(std::string_view label, std::size_t room);

/// Clears the bar if there is one. Safe in a signal handler.
void erase_progress() noexcept;

}  // namespace nz::cli
