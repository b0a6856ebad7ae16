#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "bench.hpp"

namespace nz::cli {
namespace {

/// For a plan that never pays; null in JSON.
constexpr double never = std::numeric_limits<double>::infinity();

/// The geometric mean, and the worst.
std::pair<double, comparison> total_of(const std::vector<comparison>& all) {
  double logs = 0;
  for (const comparison& one : all) logs += std::log(one.ratio);
  return {std::exp(logs / static_cast<double>(all.size())),
          *std::min_element(all.begin(), all.end(),
                            [](const comparison& a, const comparison& b) { return a.ratio < b.ratio; })};
}

std::string line_for(const char* who, const std::vector<comparison>& all, const char* precision) {
  if (all.size() < 2) return "";
  const auto [mean, worst] = total_of(all);
  return fmt::format(
      "  {:<6}  {:<15}  {:.2f} × in the geometric mean over {} matrices, at worst {:.2f} × ({}, {} against "
      "{})\n",
      precision, who, mean, all.size(), worst.ratio, worst.matrix, worst.ours, worst.peer);
}

json json_for(const std::vector<comparison>& all) {
  if (all.empty()) return nullptr;
  const auto [mean, worst] = total_of(all);
  return {{"matrices", all.size()},
          {"geometric_mean", mean},
          {"worst", worst.ratio},
          {"worst_matrix", worst.matrix}};
}

struct range {
  double least = 0, median = 0, most = 0;
};

range range_of(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2], all.back()};
}

std::string count_or_never(double count) { return count < never ? fmt::format("{:.0f}", count) : "–"; }

/// Our fastest row, or the one named `only`, against the fastest peer; none where either is missing.
std::optional<comparison> compare(const bench_matrix& matrix, std::string_view only = {}) {
  const bench_result* const peer = matrix.fastest(true, false);  // the tables say which vary too much
  const bench_result* const ours = only.empty() ? matrix.fastest(false, false) : matrix.find_timed(only);
  if (peer == nullptr || ours == nullptr || !(ours->time.seconds > 0)) return std::nullopt;
  return comparison{matrix.name, ours->name, peer->name, peer->time.seconds / ours->time.seconds};
}

json json_of(const std::optional<comparison>& found) {
  if (!found) return nullptr;
  return {{"kernel", found->ours}, {"peer", found->peer}, {"times_as_fast", found->ratio}};
}

}  // namespace

std::string comparison_text(const bench_matrix& matrix) {
  std::string out;
  const auto add = [&](const std::optional<comparison>& found, const char* lead) {
    if (found)
      out += fmt::format("{}{} is {:.2f} × as fast as {}", lead, found->ours, found->ratio, found->peer);
  };
  const std::optional<comparison> best = compare(matrix);
  add(best, "  fastest of ours and of the others: ");
  if (best && best->ours != plan_name) add(compare(matrix, plan_name), "; ");
  return out.empty() ? out : out + "\n";
}

json comparison_json(const bench_matrix& matrix) {
  return {{"best", json_of(compare(matrix))}, {"plan", json_of(compare(matrix, plan_name))}};
}

void bench_summary::add(const bench_matrix& matrix, const bench_setting& setting) {
  figures& all = matrix.precision == std::string_view("float") ? float_ : double_;
  if (const auto found = compare(matrix)) all.best.push_back(*found);
  if (const auto found = compare(matrix, plan_name)) all.plan.push_back(*found);
  const bench_result* const made = matrix.find_timed(plan_name);
  if (made == nullptr || matrix.csr_bytes == 0) return;
  all.ceiling.push_back(matrix.bytes_per_second(*made) / setting.ceiling());
  all.memory.push_back(static_cast<double>(made->size.bytes) / static_cast<double>(matrix.csr_bytes));
  all.paid.push_back(matrix.pays_after(*made, setting).value_or(never));
}

std::string bench_summary::text() const {
  std::string lines;
  for (const auto& [precision, all] : {std::pair("float", &float_), std::pair("double", &double_)}) {
    lines += line_for("fastest of ours", all->best, precision) + line_for("plan", all->plan, precision);
    if (all->plan.size() < 2 || all->paid.size() < 2) continue;
    const range ceiling = range_of(all->ceiling), memory = range_of(all->memory), paid = range_of(all->paid);
    lines += fmt::format(
        "          {:<15}  {:.0f} to {:.0f} % of the ceiling, {:.0f} % in the median; {:.2f} × CSR's memory "
        "in the median, at most {:.2f} ×; multiplies until paid back: {} in the median, {} at worst\n",
        "", 100 * ceiling.least, 100 * ceiling.most, 100 * ceiling.median, memory.median, memory.most,
        count_or_never(paid.median), count_or_never(paid.most));
  }
  return lines.empty() ? lines : bold("against the fastest peer of each matrix") + "\n" + lines;
}

json bench_summary::json_value() const {
  json out;
  for (const auto& [precision, all] : {std::pair("float", &float_), std::pair("double", &double_)}) {
    out[precision] = {
        {"best", json_for(all->best)}, {"plan", json_for(all->plan)}, {"plan_figures", nullptr}};
    if (all->paid.empty()) continue;
    const range ceiling = range_of(all->ceiling), memory = range_of(all->memory), paid = range_of(all->paid);
    out[precision]["plan_figures"] = {
        {"fraction_of_ceiling",
         {{"least", ceiling.least}, {"median", ceiling.median}, {"most", ceiling.most}}},
        {"times_csr_bytes", {{"median", memory.median}, {"most", memory.most}}},
        {"pays_after", {{"median", paid.median}, {"worst", paid.most}}}};
  }
  return out;
}

}  // namespace nz::cli
