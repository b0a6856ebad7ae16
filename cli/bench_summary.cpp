#include "bench_summary.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "terminal.hpp"

namespace nz::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* precisions[] = {"float", "double"};

struct total {
  std::size_t matrices = 0;
  double mean = 0;  // geometric
  const duel* worst = nullptr;
};

total total_of(const std::vector<duel>& duels, std::string_view precision) {
  total out;
  double logs = 0;
  for (const duel& d : duels) {
    if (d.precision != precision) continue;
    ++out.matrices;
    logs += std::log(d.ratio);
    if (out.worst == nullptr || d.ratio < out.worst->ratio) out.worst = &d;
  }
  if (out.matrices > 0) out.mean = std::exp(logs / static_cast<double>(out.matrices));
  return out;
}

std::string line_for(const char* who, const std::vector<duel>& duels, const char* precision) {
  const total found = total_of(duels, precision);
  if (found.matrices < 2) return "";
  return fmt::format(
      "  {:<6}  {:<15}  {:.2f} × in the geometric mean over {} matrices, at worst {:.2f} × ({}, {} against "
      "{})\n",
      precision, who, found.mean, found.matrices, found.worst->ratio, found.worst->matrix, found.worst->ours,
      found.worst->peer);
}

ordered_json json_for(const std::vector<duel>& duels, const char* precision) {
  const total found = total_of(duels, precision);
  if (found.matrices == 0) return nullptr;
  return {{"matrices", found.matrices},
          {"geometric_mean", found.mean},
          {"worst", found.worst->ratio},
          {"worst_matrix", found.worst->matrix}};
}

/// Stands for a plan that is never paid back.
constexpr double never = std::numeric_limits<double>::infinity();

std::string count_or_never(double count) { return count < never ? fmt::format("{:.0f}", count) : "–"; }

struct range {
  double least = 0, median = 0, most = 0;
};

template <class All, class Figure> range range_of(const All& all, Figure figure) {
  std::vector<double> sorted;
  for (const auto& one : all) sorted.push_back(figure(one));
  std::sort(sorted.begin(), sorted.end());
  return {sorted.front(), sorted[sorted.size() / 2], sorted.back()};
}

ordered_json json_of(const std::optional<duel>& found) {
  if (!found) return nullptr;
  return {{"kernel", found->ours}, {"peer", found->peer}, {"times_as_fast", found->ratio}};
}

}  // namespace

std::optional<duel> find_duel(const bench_matrix& matrix, std::string_view only) {
  const bench_result* const peer = matrix.fastest(true);
  const bench_result* ours = only.empty() ? matrix.fastest(false) : nullptr;
  for (const bench_result& r : matrix.results)
    if (!only.empty() && r.name == only && r.is_timed()) ours = &r;
  if (peer == nullptr || ours == nullptr || !(ours->time.seconds > 0)) return std::nullopt;
  return duel{matrix.name, matrix.precision, ours->name, peer->name, peer->time.seconds / ours->time.seconds};
}

std::string duel_text(const bench_matrix& matrix) {
  std::string out;
  const auto add = [&](const std::optional<duel>& found, const char* lead) {
    if (found)
      out += fmt::format("{}{} is {:.2f} × as fast as {}", lead, found->ours, found->ratio, found->peer);
  };
  const std::optional<duel> best = find_duel(matrix);
  add(best, "  fastest of ours and of the others: ");
  if (best && best->ours != plan_name) add(find_duel(matrix, plan_name), "; ");
  return out.empty() ? out : out + "\n";
}

ordered_json duel_json(const bench_matrix& matrix) {
  return {{"best", json_of(find_duel(matrix))}, {"plan", json_of(find_duel(matrix, plan_name))}};
}

void bench_summary::add(const bench_matrix& matrix, const bench_setting& setting) {
  if (const auto found = find_duel(matrix)) best_.push_back(*found);
  if (const auto found = find_duel(matrix, plan_name)) plan_.push_back(*found);
  const bench_result* const made = matrix.find_timed(plan_name);
  if (made == nullptr || matrix.csr_bytes == 0) return;
  figures_.push_back({matrix.precision, matrix.bytes_per_second(*made) / setting.ceiling(),
                      static_cast<double>(made->size.bytes) / static_cast<double>(matrix.csr_bytes),
                      matrix.pays_after(*made, setting)});
}

std::vector<bench_summary::plan_figures> bench_summary::figures_of(std::string_view precision) const {
  std::vector<plan_figures> out;
  std::copy_if(figures_.begin(), figures_.end(), std::back_inserter(out),
               [&](const plan_figures& f) { return f.precision == precision; });
  return out;
}

std::string bench_summary::figures_line(std::string_view precision) const {
  const std::vector<plan_figures> all = figures_of(precision);
  if (all.size() < 2) return "";
  const range ceiling = range_of(all, [](const auto& f) { return f.part_of_ceiling; });
  const range memory = range_of(all, [](const auto& f) { return f.times_csr; });
  const range paid = range_of(all, [](const auto& f) { return f.pays_after.value_or(never); });
  return fmt::format(
      "          {:<15}  {:.0f} to {:.0f} % of the ceiling, {:.0f} % in the median; {:.2f} × CSR's memory in "
      "the median, at most {:.2f} ×; paid back after {} multiplies in the median, {} at worst\n",
      "", 100 * ceiling.least, 100 * ceiling.most, 100 * ceiling.median, memory.median, memory.most,
      count_or_never(paid.median), count_or_never(paid.most));
}

ordered_json bench_summary::figures_json(std::string_view precision) const {
  const std::vector<plan_figures> all = figures_of(precision);
  if (all.empty()) return nullptr;
  const range ceiling = range_of(all, [](const auto& f) { return f.part_of_ceiling; });
  const range memory = range_of(all, [](const auto& f) { return f.times_csr; });
  const range paid = range_of(all, [](const auto& f) { return f.pays_after.value_or(never); });
  const auto or_null = [](double count) { return count < never ? ordered_json(count) : nullptr; };
  return {{"part_of_ceiling", {{"least", ceiling.least}, {"median", ceiling.median}, {"most", ceiling.most}}},
          {"times_csr_bytes", {{"median", memory.median}, {"most", memory.most}}},
          {"pays_after", {{"median", or_null(paid.median)}, {"worst", or_null(paid.most)}}}};
}

std::string bench_summary::text() const {
  std::string lines;
  for (const char* precision : precisions) {
    lines += line_for("fastest of ours", best_, precision);
    const std::string plans = line_for("plan", plan_, precision);
    if (!plans.empty()) lines += plans + figures_line(precision);
  }
  return lines.empty() ? lines : bold("against the fastest peer of each matrix") + "\n" + lines;
}

ordered_json bench_summary::as_json() const {
  ordered_json out;
  for (const char* precision : precisions)
    out[precision] = {{"best", json_for(best_, precision)},
                      {"plan", json_for(plan_, precision)},
                      {"plan_figures", figures_json(precision)}};
  return out;
}

}  // namespace nz::cli
