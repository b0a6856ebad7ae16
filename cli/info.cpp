#include <algorithm>

#include <fmt/format.h>

#include <nonzero/plan/features.hpp>

#include "checking.hpp"
#include "matrices.hpp"

namespace nz::cli {
namespace {

struct info_options {
  matrix_argument matrix;
  padding_budget budget;
  bool as_json = false;
};

struct findings {
  matrix_features features;
  std::optional<matrix_market_info> file;
  offset duplicates_summed = 0;
  std::vector<format_cost> costs;  // one for each of formats()
};

std::string file_text(const matrix_market_info& file) {
  return fmt::format("{} {} {}", to_string(file.layout), to_string(file.field), to_string(file.symmetry));
}

std::string symmetry_text(const matrix_features& f) {
  if (f.rows != f.cols) return "none: not square";
  if (f.is_symmetric) return "symmetric, pattern and values";
  if (f.is_skew_symmetric) return "skew-symmetric";
  return f.has_symmetric_pattern ? "pattern symmetric, values not" : "none";
}

json json_of(const findings& found, const matrix_argument& argument) {
  const matrix_features& f = found.features;
  const row_length_features& r = f.row_length;
  std::vector<json> histogram, costs;
  for (std::size_t b = 0; b < r.histogram.size(); ++b)
    histogram.push_back({{"from", b == 0 ? 0 : offset{1} << (b - 1)},
                         {"to", (offset{1} << b) - 1},
                         {"rows", r.histogram[b]}});
  for (std::size_t k = 0; k < found.costs.size(); ++k) {
    const format_cost& cost = found.costs[k];
    costs.push_back({{"name", formats()[k].name},
                     {"bytes", cost.size ? json(cost.size->bytes) : json()},
                     {"padding_bytes", cost.size ? json(cost.size->padding_bytes) : json()},
                     {"refused", cost.refusal}});
  }
  return joined(
      matrix_json(argument.name, argument.precision, "", f.rows, f.cols, f.entries),
      {
          {"explicit_zeros", f.explicit_zeros},
          {"nans", f.nans},
          {"infinities", f.infinities},
          {"duplicates_summed", found.duplicates_summed},
          {"symmetry",
           {{"pattern", f.has_symmetric_pattern},
            {"numeric", f.is_symmetric},
            {"skew", f.is_skew_symmetric}}},
          {"diagonal_entries", f.diagonal_entries},
          {"bandwidth",
           {{"largest", f.bandwidth()}, {"lower", f.lower_bandwidth}, {"upper", f.upper_bandwidth}}},
          {"empty_rows", r.empty},
          {"empty_cols", f.empty_cols},
          {"row_length",
           {{"min", r.shortest},
            {"median", r.median},
            {"mean", r.mean},
            {"max", r.longest},
            {"std_dev", r.deviation},
            {"histogram", histogram}}},
          {"file", found.file ? json{{"type", "Matrix Market " + file_text(*found.file)},
                                     {"entries", found.file->entries_in_file}}
                              : json()},
          {"formats", costs},
      });
}

std::string fact(std::string_view name, std::string_view value) {
  return fmt::format("  {} {}\n", faint(fmt::format("{:<14}", name)), value);
}

std::string facts_text(const findings& found) {
  const matrix_features& f = found.features;
  const row_length_features& r = f.row_length;
  std::string out;
  if (found.file)
    out += fact("file", fmt::format("Matrix Market {}; {}", file_text(*found.file),
                                    counted(found.file->entries_in_file, "entry")));
  out += fact("symmetry", symmetry_text(f));
  out += fact("diagonal", fmt::format("{} of {} present", grouped(f.diagonal_entries),
                                      grouped(std::min(f.rows, f.cols))));
  out += fact("bandwidth", fmt::format("{} (lower {}, upper {})", grouped(f.bandwidth()),
                                       grouped(f.lower_bandwidth), grouped(f.upper_bandwidth)));
  out += fact("empty", counted(r.empty, "row") + ", " + counted(f.empty_cols, "column"));
  out += fact("explicit zeros", grouped(f.explicit_zeros));
  if (f.nans + f.infinities > 0)
    out += fact("not finite", fmt::format("{} NaN, {}", grouped(f.nans), counted(f.infinities, "infinity")));
  out += fact("duplicates", fmt::format("{} summed", grouped(found.duplicates_summed)));
  out +=
      fact("row length", fmt::format("min {}, median {:.6g}, mean {:.4g}, max {}, std dev {:.4g}",
                                     grouped(r.shortest), r.median, r.mean, grouped(r.longest), r.deviation));
  return out;
}

std::string histogram_text(const row_length_features& r) {
  if (r.histogram.empty()) return "";
  constexpr int bar_width = 40;
  const index most = *std::max_element(r.histogram.begin(), r.histogram.end());
  table out({">row length", ">rows", ""});
  for (std::size_t b = 0; b < r.histogram.size(); ++b) {
    const offset from = b == 0 ? 0 : offset{1} << (b - 1), to = (offset{1} << b) - 1;
    const index rows = r.histogram[b];
    // The bar of a few rows among many must remain visible.
    const double filled = rows == 0 ? 0 : std::max(static_cast<double>(rows) / most, 1.0 / (8 * bar_width));
    out.add({from == to ? grouped(from) : fmt::format("{} – {}", grouped(from), grouped(to)), grouped(rows),
             bar_of(filled, bar_width)});
  }
  return out.text();
}

std::string costs_text(const findings& found, padding_budget budget) {
  table out({"format", ">bytes", ">per entry", ">padding", ""});
  for (std::size_t k = 0; k < found.costs.size(); ++k) {
    const format_cost& cost = found.costs[k];
    const std::string name(formats()[k].name);
    if (cost.size)
      out.add({name, format_bytes(cost.size->bytes), per_entry_text(*cost.size, found.features.entries),
               padding_text(*cost.size), cost.refusal ? refusal_text(budget) : ""});
    else  // the reason begins with the name of the format, which the table shows already
      out.add({name, yellow("refused: ") +
                         cost.refusal->substr(cost.refusal->starts_with(name + ": ") ? name.size() + 2 : 0)});
  }
  return out.text();
}

void run(const info_options& options) {
  with_precision(options.matrix.precision, [&](auto zero) {
    using value = decltype(zero);
    const loaded_matrix<value> loaded = load<value>(options.matrix.name);
    findings found{find_features(loaded.matrix), loaded.file, loaded.duplicates_summed, {}};
    for (const format_row& format : formats())
      found.costs.push_back(find_cost(format, loaded.matrix, options.budget));
    if (options.as_json) return print_json(json_of(found, options.matrix));
    const matrix_features& f = found.features;
    print(title_text(options.matrix.name, f.rows, f.cols, f.entries) + ", " + options.matrix.precision +
          "\n\n");
    print(facts_text(found) + "\n");
    if (f.rows > 0) print(histogram_text(f.row_length) + "\n");
    print(costs_text(found, options.budget));
  });
}

}  // namespace

void set_up_info(command& c) {
  auto& options = c.runs(run);
  options.matrix.add_to(c);
  c.budget(options.budget);
  c.json(options.as_json);
  c.footer(
      R"(Padding is what a format adds to make rows equally long. A format is refused where its padding exceeds
the budget.

Examples:
  nz info web.mtx.gz
  nz info poisson3d:40 --precision float
  nz info web.npz --json | jq .row_length.max
  curl -s https://example.org/web.mtx | nz info -)");
}

}  // namespace nz::cli
