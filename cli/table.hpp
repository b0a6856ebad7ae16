#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nz::cli {

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

}  // namespace nz::cli
