#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "bench.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

constexpr const char* precisions[] = {"float", "double"};

struct total {
  std::size_t matrices = 0;
  double mean = 0;  // geometric
  const comparison* worst = nullptr;
};

total total_of(const std::vector<comparison>& all, std::string_view precision) {
  total out;
  double logs = 0;
  for (const comparison& d : all) {
    if (d.precision != precision) continue;
    ++out.matrices;
    logs += std::log(d.ratio);
    if (out.worst == nullptr || d.ratio < out.worst->ratio) out.worst = &d;
  }
  if (out.matrices > 0) out.mean = std::exp(logs / static_cast<double>(out.matrices));
  return out;
}

std::string line_for(const char* who, const std::vector<comparison>& all, const char* precision) {
  const total found = total_of(all, precision);
  if (found.matrices < 2) return "";
  return fmt::format(
      "  {:<6}  {:<15}  {:.2f} × in the geometric mean over {} matrices, at worst {:.2f} × ({}, {} against "
      "{})\n",
      precision, who, found.mean, found.matrices, found.worst->ratio, found.worst->matrix, found.worst->ours,
      found.worst->peer);
}

json json_for(const std::vector<comparison>& all, const char* precision) {
  const total found = total_of(all, precision);
  if (found.matrices == 0) return nullptr;
  return {{"matrices", found.matrices},
          {"geometric_mean", found.mean},
          {"worst", found.worst->ratio},
          {"worst_matrix", found.worst->matrix}};
}

/// For a plan that never pays.
constexpr double never = std::numeric_limits<double>::infinity();

std::string count_or_never(double count) { return count < never ? fmt::format("{:.0f}", count) : "–"; }

struct range {
  double least = 0, median = 0, most = 0;
};

template <class All, class Figure> range range_of(const All& all, Figure figure) {
  std::vector<double> sorted;
  sorted.reserve(all.size());
  for (const auto& one : all) sorted.push_back(figure(one));
  std::sort(sorted.begin(), sorted.end());
  return {sorted.front(), sorted[sorted.size() / 2], sorted.back()};
}

json json_of(const std::optional<comparison>& found) {
  if (!found) return nullptr;
  return {{"kernel", found->ours}, {"peer", found->peer}, {"times_as_fast", found->ratio}};
}

}  // namespace

std::optional<comparison> compare(const bench_matrix& matrix, std::string_view only) {
  const bench_result* const peer = matrix.fastest(true);
  const bench_result* ours = only.empty() ? matrix.fastest(false) : nullptr;
  for (const bench_result& r : matrix.results)
    if (!only.empty() && r.name == only && r.is_timed()) ours = &r;
  if (peer == nullptr || ours == nullptr || !(ours->time.seconds > 0)) return std::nullopt;
  return comparison{matrix.name, matrix.precision, ours->name, peer->name,
                    peer->time.seconds / ours->time.seconds};
}

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

struct bench_summary::ranges {
  std::size_t matrices;
  range ceiling, memory, paid;
};

void bench_summary::add(const bench_matrix& matrix, const bench_setting& setting) {
  if (const auto found = compare(matrix)) best_.push_back(*found);
  if (const auto found = compare(matrix, plan_name)) plan_.push_back(*found);
  const bench_result* const made = matrix.find_timed(plan_name);
  if (made == nullptr || matrix.csr_bytes == 0) return;
  figures_.push_back({matrix.precision, matrix.bytes_per_second(*made) / setting.ceiling(),
                      static_cast<double>(made->size.bytes) / static_cast<double>(matrix.csr_bytes),
                      matrix.pays_after(*made, setting)});
}

std::optional<bench_summary::ranges> bench_summary::ranges_of(std::string_view precision) const {
  std::vector<plan_figures> all;
  std::copy_if(figures_.begin(), figures_.end(), std::back_inserter(all),
               [&](const plan_figures& f) { return f.precision == precision; });
  if (all.empty()) return std::nullopt;
  return ranges{all.size(), range_of(all, [](const auto& f) { return f.part_of_ceiling; }),
                range_of(all, [](const auto& f) { return f.times_csr; }),
                range_of(all, [](const auto& f) { return f.pays_after.value_or(never); })};
}

std::string bench_summary::text() const {
  std::string lines;
  for (const char* precision : precisions) {
    lines += line_for("fastest of ours", best_, precision);
    const std::string plans = line_for("plan", plan_, precision);
    lines += plans;
    const auto all = ranges_of(precision);
    if (plans.empty() || !all || all->matrices < 2) continue;
    lines += fmt::format(
        "          {:<15}  {:.0f} to {:.0f} % of the ceiling, {:.0f} % in the median; {:.2f} × CSR's memory "
        "in "
        "the median, at most {:.2f} ×; paid back after {} multiplies in the median, {} at worst\n",
        "", 100 * all->ceiling.least, 100 * all->ceiling.most, 100 * all->ceiling.median, all->memory.median,
        all->memory.most, count_or_never(all->paid.median), count_or_never(all->paid.most));
  }
  return lines.empty() ? lines : bold("against the fastest peer of each matrix") + "\n" + lines;
}

json bench_summary::json_value() const {
  const auto or_null = [](double count) { return count < never ? json(count) : json(); };
  json out;
  for (const char* precision : precisions) {
    json figures;
    if (const auto all = ranges_of(precision))
      figures = {
          {"part_of_ceiling",
           {{"least", all->ceiling.least}, {"median", all->ceiling.median}, {"most", all->ceiling.most}}},
          {"times_csr_bytes", {{"median", all->memory.median}, {"most", all->memory.most}}},
          {"pays_after", {{"median", or_null(all->paid.median)}, {"worst", or_null(all->paid.most)}}}};
    out[precision] = {{"best", json_for(best_, precision)},
                      {"plan", json_for(plan_, precision)},
                      {"plan_figures", figures}};
  }
  return out;
}

}  // namespace nz::cli
