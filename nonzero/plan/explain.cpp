#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/core/counted.hpp>
#include <nonzero/plan/plan.hpp>

namespace nz {
namespace {

/// "1.23 ms".
std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} µs", seconds * 1e6);
}

template <class T, class Text> std::string or_dash(const std::optional<T>& value, Text text) {
  return value ? text(*value) : "–";
}

/// How many columns a UTF-8 text takes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

std::string line_of(std::string_view name, std::string_view text) {
  return fmt::format("  {:<10} {}\n", name, text);
}

std::string matrix_line(const plan_report& r) {
  std::string out =
      fmt::format("{} × {}, {}; rows of {:.3g}", r.rows, r.cols, counted(r.entries, "entry"), r.mean_row);
  if (r.longest_row > 0) out += fmt::format(", the longest of {}", r.longest_row);
  if (r.gathers.lines_per_entry > 0)
    out += fmt::format("; {:.2g} cache lines of x per entry", r.gathers.lines_per_entry);
  return out;
}

const char* name_of_call(const plan_report& r) { return r.are_steps ? "step" : "multiply"; }

std::string csr_line(const plan_report& r) {
  std::string out = fmt::format("{} a {} by {}, {}", time_text(r.csr_seconds), name_of_call(r), r.base_kernel,
                                format_bytes(r.csr_bytes));
  if (r.waiting_seconds > 0)
    out += fmt::format("; {:.0f} % of the time is explained neither by its bytes nor by its {}",
                       100 * std::min(1.0, r.waiting_seconds / r.csr_seconds),
                       r.kind == device_kind::cpu ? "instructions" : "launch");
  return out;
}

std::string plan_line(const plan_report& r) {
  std::string out =
      r.chosen_seconds > 0 ? fmt::format("{} a {}, ", time_text(r.chosen_seconds), name_of_call(r)) : "";
  out += format_bytes(r.bytes);
  if (r.entries > 0)
    out += fmt::format(", {:.3g} bytes per entry",
                       static_cast<double>(r.bytes) / static_cast<double>(r.entries));
  if (r.chosen_seconds > 0 && r.bytes_per_second > 0)
    out += fmt::format("; {:.0f} % of the speed of moving CSR, x and y once",
                       100 * static_cast<double>(r.compulsory_bytes) / r.chosen_seconds / r.bytes_per_second);
  return out;
}

std::string machine_line(const plan_report& r) {
  if (r.bytes_per_second <= 0) return r.machine;
  const char* const does = r.kind == device_kind::cpu ? "reads this matrix at" : "moves";
  const double speed = r.bytes_per_second * 1e-9;
  return fmt::format("{}; {} {} GB/s", r.machine, does,
                     speed < 1000 ? fmt::format("{:.3g}", speed) : fmt::format("{:.0f}", speed));
}

/// The conversion has to pay within the expected multiplies. The time for measuring is spent by then.
std::string cost_line(const plan_report& r) {
  std::string out = fmt::format("planned in {}", time_text(r.seconds));
  if (r.csr_seconds > 0)
    out += fmt::format(", as long as {} by {}", counted(std::llround(r.seconds / r.csr_seconds), "multiply"),
                       r.base_kernel);
  if (r.validation_seconds > 0)
    out += fmt::format("; {} of it ({:.0f} %) validated the matrix", time_text(r.validation_seconds),
                       100 * r.validation_seconds / r.seconds);
  out += fmt::format("; {} {} expected", counted(r.expected_multiplies, "multiply"),
                     r.expected_multiplies == 1 ? "is" : "are");
  const auto after = r.pays_after();
  if (!after || static_cast<double>(r.csr_bytes) > r.memory_budget) return out;  // it had to be converted
  out += fmt::format("; paid back after {:.0f}", *after);
  for (const plan_candidate& c : r.candidates)
    if (c.is_chosen && c.conversion) {
      const double conversion = *c.conversion + r.reorder_seconds;
      out += fmt::format(", the conversion alone after {:.0f}: measuring took the rest",
                         *after * conversion / r.seconds);
    }
  if (*after > static_cast<double>(r.expected_multiplies))
    out += "; chosen nevertheless, because that time is spent by now and each multiply to come is faster";
  return out;
}

std::string values_line(const plan_report& r) {
  return fmt::format("in single precision{}; x, y and the sums in double", r.is_rounded ? ", rounded" : "");
}

using cells = std::array<std::string, 6>;

cells cells_of(const plan_candidate& c) {
  const auto bytes = [](std::uint64_t b) { return format_bytes(b); };
  return {c.kernel,
          or_dash(c.predicted_bytes, bytes),
          or_dash(c.predicted_seconds, time_text),
          or_dash(c.seconds, time_text),
          or_dash(c.conversion ? c.conversion : c.predicted_conversion, time_text),
          fmt::format("{}{}", c.is_chosen ? "chosen: " : "", c.verdict)};
}

/// The first and the last column to the left, the numbers between them to the right.
std::string table_of(const std::vector<plan_candidate>& candidates) {
  std::vector<cells> rows{{"kernel", "bytes", "predicted", "measured", "conversion", ""}};
  for (const plan_candidate& c : candidates) rows.push_back(cells_of(c));
  std::array<std::size_t, 6> widths{};
  for (const cells& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  std::string out;
  for (const cells& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(widths[c] - width_of(row[c]), ' ');
      const bool is_left = c == 0 || c + 1 == row.size();
      line += fmt::format("  {}{}", is_left ? row[c] : fill, is_left ? fill : row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace

std::optional<double> plan_report::pays_after() const {
  const double gain = csr_seconds - chosen_seconds;
  if (chosen_seconds <= 0 || gain <= 0) return std::nullopt;
  return seconds / gain;
}

std::string explain(const plan_report& r) {
  std::string out = fmt::format("{}{}: {}\n", r.kernel, r.is_reordered ? ", reordered" : "", r.reason);
  out += line_of("matrix", matrix_line(r));
  out += line_of("machine", machine_line(r));
  if (r.csr_seconds > 0) out += line_of("csr", csr_line(r));
  out += line_of("plan", plan_line(r));
  if (r.value_bytes != r.vector_bytes) out += line_of("values", values_line(r));
  if (!r.encodings.empty()) out += line_of("encodings", r.encodings);
  if (r.reorder_seconds > 0)
    out += line_of("reordering",
                   fmt::format("{}, {}", time_text(r.reorder_seconds), r.is_reordered ? "kept" : "not kept"));
  out += line_of("cost", cost_line(r));
  if (r.is_reordered) out += "\n  For the matrix in the new order, without the time to permute x and y:";
  if (!r.candidates.empty()) out.append("\n").append(table_of(r.candidates));
  return out;
}

}  // namespace nz
