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
  /// A row may end early; the columns it leaves out stay empty.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line indented by two.
  std::string text() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nz::cli
