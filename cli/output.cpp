#include "output.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/output_file.hpp>

#include "options.hpp"

namespace nz::cli {
namespace {

[[noreturn]] void throw_output_error(int reason) {
  throw error("cannot write to standard output: " + std::generic_category().message(reason));
}

void require_writable(const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (const fs::path folder = fs::path(file).parent_path();
      !folder.empty() && !fs::is_directory(folder, ignored))
    throw error(fmt::format("{}: there is no folder {}", file, folder.string()));
  const fs::file_status found = fs::status(file, ignored);
  // Opening a pipe would already speak to its reader.
  if (fs::is_other(found) && ::faccessat(AT_FDCWD, file.c_str(), W_OK, AT_EACCESS) != 0)
    throw error(fmt::format("{}: cannot write: {}", file, std::generic_category().message(errno)));
  if (!fs::is_other(found)) const output_file writable(file);  // not committed: nothing is left
}

std::string in_style(std::string_view code, std::string_view text) {
  return has_colour() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

constexpr std::string_view gap = "  ";

constexpr auto delay = std::chrono::seconds(1);
constexpr auto refresh = std::chrono::milliseconds(100);
constexpr int bar_width = 30;

std::atomic<bool> is_drawn = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler reads it");

/// A failure to write is ignored.
void write_error(std::string_view text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

std::string text_of(const json& value) {
  // A file name need not be UTF-8.
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

json joined(json first, const json& second) {
  first.update(second);
  return first;
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw_output_error(errno);
}

void print_json(const json& value) { print(text_of(value)); }

void finish_output() {
  if (std::fflush(stdout) != 0) throw_output_error(errno);
}

bool has_extension(const std::string& file, std::string_view extension) {
  return std::filesystem::path(file).extension() == extension;
}

void require_output(const std::string& file, std::string_view what,
                    std::initializer_list<std::string_view> extensions) {
  if (file.empty() || file == "-") return;
  if (std::none_of(extensions.begin(), extensions.end(),
                   [&](auto extension) { return has_extension(file, extension); }))
    throw usage_error(
        fmt::format("{}: {} is written as {}{}{}; use that extension{}", file, what,
                    fmt::join(extensions.begin(), extensions.end() - 1, ", "),
                    extensions.size() > 1 ? " or " : "", *(extensions.end() - 1),
                    suggestion(std::filesystem::path(file).extension().string(),
                               std::vector<std::string>(extensions.begin(), extensions.end()))));
  require_writable(file);
}

void require_plot(const std::string& file) {
  if (file == "-") throw usage_error("--plot needs the name of a .png file: standard output has the text");
  require_output(file, "a plot", {".png"});
}

void require_one_output(const char* command, const std::string& out, bool as_json) {
  if (out == "-" && as_json)
    throw usage_error(fmt::format("{}: -o - and --json both write to standard output", command));
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string counted(std::int64_t number, std::string_view what) {
  if (number == 1) return fmt::format("1 {}", what);
  return what.ends_with('y') ? fmt::format("{} {}ies", grouped(number), what.substr(0, what.size() - 1))
                             : fmt::format("{} {}s", grouped(number), what);
}

std::string shape_text(std::int64_t rows, std::int64_t cols) {
  return fmt::format("{} × {}", grouped(rows), grouped(cols));
}

std::string title_text(std::string_view matrix, std::int64_t rows, std::int64_t cols, std::int64_t entries) {
  return fmt::format("{}  {}, {}", bold(matrix), shape_text(rows, cols), counted(entries, "entry"));
}

json matrix_json(std::string_view matrix, std::string_view precision, std::string_view values,
                 std::int64_t rows, std::int64_t cols, std::int64_t entries) {
  json out = {{"matrix", matrix}, {"precision", precision}, {"threads", thread_count()}};
  if (!values.empty()) out["values"] = values;
  return joined(std::move(out), {{"rows", rows}, {"cols", cols}, {"entries", entries}});
}

std::string printable(std::string_view text, char by) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, by);
  return out;
}

extent terminal_size(int descriptor) {
  extent out;
  if (winsize size = {}; ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return {size.ws_col, size.ws_row > 0 ? size.ws_row : out.lines};
  if (const char* text = std::getenv("COLUMNS")) {
    const long columns = std::strtol(text, nullptr, 10);
    if (columns > 0) out.columns = static_cast<int>(std::min(columns, 1000L));
  }
  return out;
}

bool has_colour() {
  static const bool colour = [] {
    const char* term = std::getenv("TERM");
    const char* no_color = std::getenv("NO_COLOR");
    const bool is_dumb = term == nullptr || std::string_view(term) == "dumb";
    return ::isatty(STDOUT_FILENO) == 1 && !is_dumb && (no_color == nullptr || *no_color == '\0');
  }();
  return colour;
}

std::string bold(std::string_view text) { return in_style("1", text); }
std::string faint(std::string_view text) { return in_style("2", text); }
std::string red(std::string_view text) { return in_style("1;31", text); }
std::string green(std::string_view text) { return in_style("32", text); }
std::string yellow(std::string_view text) { return in_style("33", text); }

std::string frame_line(int width, std::string_view left, std::string_view right) {
  std::string out(left);
  for (int i = 0; i < width; ++i) out += "─";
  return out.append(right) + "\n";
}

std::string bar_of(double fraction, int width, std::string_view empty) {
  constexpr std::string_view partly_filled[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(fraction * width * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += "█";
  out += partly_filled[eighths % 8];
  for (int used = (eighths + 7) / 8; used < width; ++used) out += empty;
  return out;
}

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

table::table(std::vector<std::string> titles) {
  for (std::string& title : titles) {
    is_right_.push_back(title.starts_with('>'));
    if (is_right_.back()) title.erase(0, 1);
  }
  rows_.push_back(std::move(titles));
}

std::vector<int> table::widths() const {
  std::vector<int> out(is_right_.size());
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size() && !spans(row, c); ++c)
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
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const int free = spans(row, c) ? 0 : widths[c] - display_width(row[c]);
      const std::string fill(static_cast<std::size_t>(free), ' ');
      const std::string cell = is_right_[c] ? fill + row[c] : row[c] + fill;
      line += std::string(gap) + (&row == &rows_.front() ? faint(cell) : cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

progress_bar::progress_bar(std::string label)
    : label_(std::move(label)), is_wanted_(::isatty(STDERR_FILENO) == 1), next_(clock::now() + delay) {}

progress_bar::~progress_bar() { erase_progress(); }

void progress_bar::show(std::int64_t steps, std::int64_t most, double first, double now, double goal) {
  const double by_steps = static_cast<double>(steps) / std::max(1.0, static_cast<double>(most));
  show(first > goal ? std::max(by_steps, std::log(first / now) / std::log(first / goal)) : by_steps);
}

void progress_bar::show(double fraction) {
  if (!is_wanted_ || clock::now() < next_) return;
  next_ = clock::now() + refresh;
  fraction = std::clamp(fraction, 0.0, 1.0);
  // A line that wraps could not be erased, so the label is shortened.
  const auto room =
      static_cast<std::size_t>(std::max(0, terminal_size(STDERR_FILENO).columns - bar_width - 10));
  is_drawn = true;
  write_error(fmt::format("\r\x1b[K{} {} {:3.0f} %", shorten_label(label_, room),
                          bar_of(fraction, bar_width, "░"), 100 * fraction));
}

std::string shorten_label(std::string_view label, std::size_t room) {
  if (label.size() <= room) return std::string(label);
  const std::size_t verb = std::min(label.find(' '), label.size() - 1) + 1;  // with the blank after it
  if (room <= verb) return std::string(label.substr(0, room));
  std::string_view end = label.substr(label.size() - (room - verb - 1));
  while (!end.empty() && (static_cast<unsigned char>(end[0]) & 0xC0) == 0x80) end.remove_prefix(1);
  return fmt::format("{}…{}", label.substr(0, verb), end);
}

void erase_progress() noexcept {
  if (is_drawn.exchange(false)) write_error("\r\x1b[K");
}

}  // namespace nz::cli
