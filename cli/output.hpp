#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

/// An empty optional becomes null.
template <class T> struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(ordered_json& to, const std::optional<T>& value) {
    to = value ? ordered_json(*value) : ordered_json();
  }
};

// What commands print: JSON, text, tables, colours and progress bars.
namespace nz::cli {

/// Objects keep the order of their fields; NaN and infinities become null.
using json = nlohmann::ordered_json;
/// On several lines, with a newline at the end.
std::string text_of(const json& value);
/// The fields of both objects, in this order.
json joined(json first, const json& second);

/// Writes to standard output; throws `nz::error` with the system's reason if that fails.
void print(std::string_view text);
void print_json(const json& value);
/// Flushes standard output, and throws if not all of it could be written.
void finish_output();

/// Call it before the work. Throws `usage_error` unless the name has one of these extensions, with `what` in
/// the message ("a plot"), and `nz::error` where the file cannot be written, as far as that is known
/// beforehand: the folder does not exist, the file is a folder, or permission is missing. "-" and an empty
/// name pass.
void require_output(const std::string& file, std::string_view what,
                    std::initializer_list<std::string_view> extensions);
/// Throws `usage_error` where the result (-o -) and --json would both go to standard output.
/// The same of a picture, which does not go to standard output beside the text.
void require_plot(const std::string& file);
void require_one_output(const char* command, const std::string& out, bool as_json);
bool has_extension(const std::string& file, std::string_view extension);

/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
/// "1 page", "1,138 pages", "2 entries".
std::string counted(std::int64_t number, std::string_view what);
/// "1,138 × 1,138".
std::string shape_text(std::int64_t rows, std::int64_t cols);
/// The first line of a report: "web.mtx  1,138 × 1,138, 4,054 entries".
std::string title_text(std::string_view matrix, std::int64_t rows, std::int64_t cols, std::int64_t entries);
/// The first fields of a report; without --values, `values` is empty.
json matrix_json(std::string_view matrix, std::string_view precision, std::string_view values,
                 std::int64_t rows, std::int64_t cols, std::int64_t entries);
/// The text without control characters, each replaced by `by`.
std::string printable(std::string_view text, char by = ' ');

struct extent {
  int columns = 80, lines = 40;
};
/// The size of the terminal; without one, $COLUMNS or 80, and 40 lines.
extent terminal_size(int descriptor);

/// Whether standard output is a terminal with colours, and NO_COLOR is not set.
bool has_colour();

/// The text in that style where there is colour, else unchanged.
std::string bold(std::string_view text);
std::string faint(std::string_view text);
std::string red(std::string_view text);
std::string green(std::string_view text);
std::string yellow(std::string_view text);

/// A horizontal line between two corners, with a newline.
std::string frame_line(int width, std::string_view left, std::string_view right);

/// A horizontal bar that fills a fraction of `width` characters, to an eighth of a character. `empty` fills
/// the rest.
std::string bar_of(double fraction, int width, std::string_view empty = "");

/// The columns that a UTF-8 text takes on a terminal: one for each character, none for colours.
int display_width(std::string_view text);

/// Aligned columns under a line of titles. A title that begins with '>' aligns its column to the right.
class table {
 public:
  explicit table(std::vector<std::string> titles);
  /// A row may have fewer cells than columns: the last one then spans the rest.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Every line is indented by two.
  std::string text() const;
  /// The width of the text without cells that span columns.
  int width() const;

 private:
  bool spans(const std::vector<std::string>& row, std::size_t c) const {
    return c + 1 == row.size() && row.size() < is_right_.size();
  }
  std::vector<int> widths() const;

  std::vector<bool> is_right_;                  // of each column
  std::vector<std::vector<std::string>> rows_;  // the titles first
};

/// A bar on standard error, if that is a terminal, for work that takes more than a second; erased at the end.
class progress_bar {
 public:
  explicit progress_bar(std::string label);
  ~progress_bar();
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  /// Shows the fraction of the work that is done.
  void show(double fraction);
  /// For an iteration that ends at `most` steps, or when a figure falls from `first` to `goal`.
  void show(std::int64_t steps, std::int64_t most, double first, double now, double goal);

 private:
  using clock = std::chrono::steady_clock;
  std::string label_;
  bool is_wanted_;
  clock::time_point next_;
};

/// Shortens a verb and a name, keeping the end of the name: "reading …/web.mtx".
std::string shorten_label(std::string_view label, std::size_t room);

/// Erases the bar. Safe in a signal handler.
void erase_progress() noexcept;

}  // namespace nz::cli
