#include "table.hpp"

#include <algorithm>

#include "terminal.hpp"

namespace nz::cli {
namespace {

constexpr std::string_view gap = "  ";

std::string in_column(const std::string& cell, int width, table::side align) {
  const std::string fill(static_cast<std::size_t>(std::max(0, width - display_width(cell))), ' ');
  return align == table::side::right ? fill + cell : cell + fill;
}

void add_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::vector<int> table::widths() const {
  std::vector<int> out;
  for (const column& c : columns_) out.push_back(display_width(c.title));
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size() && !runs_on(row, c); ++c)
      out[c] = std::max(out[c], display_width(row[c]));
  return out;
}

int table::width() const {
  int out = 0;
  for (const int wide : widths()) out += static_cast<int>(gap.size()) + wide;
  return out;
}

std::string table::text() const {
  const std::vector<int> widths = this->widths();
  std::string out, titles;
  for (std::size_t c = 0; c < columns_.size(); ++c)
    titles += std::string(gap) + faint(in_column(columns_[c].title, widths[c], columns_[c].align));
  add_line(out, titles);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += std::string(gap) + (runs_on(row, c) ? row[c] : in_column(row[c], widths[c], columns_[c].align));
    add_line(out, line);
  }
  return out;
}

}  // namespace nz::cli
