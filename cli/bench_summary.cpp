#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "bench.hpp"

namespace nz::cli {
namespace {

/// For a plan that never pays; null in JSON.
constexpr double never = std::numeric_limits<double>::infinity();

/// A plan that takes at most this many times as long as our fastest kernel is as good.
constexpr double close = 1.05;

/// The geometric mean, and the worst.
std::pair<double, comparison> total_of(const std::vector<comparison>& all) {
  double logs = 0;
  for (const comparison& one : all) logs += std::log(one.ratio);
  return {std::exp(logs / static_cast<double>(all.size())),
          *std::min_element(all.begin(), all.end(),
                            [](const comparison& a, const comparison& b) { return a.ratio < b.ratio; })};
}

std::string ratio_text(const std::vector<comparison>& all) {
  if (all.empty()) return "–";
  const auto [mean, worst] = total_of(all);
  // Of a file without its folder: two of these stand side by side.
  return fmt::format("{:.2f} ×, at worst {:.2f} × ({})", mean, worst.ratio,
                     std::filesystem::path(worst.matrix).filename().string());
}

json ratio_json(const std::vector<comparison>& all) {
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

std::string percent_text(const std::vector<double>& all) {
  if (all.empty()) return "–";
  const range found = range_of(all);
  return fmt::format("{:.0f} % in the median, {:.0f} to {:.0f} %", 100 * found.median, 100 * found.least,
                     100 * found.most);
}

json range_json(const std::vector<double>& all) {
  if (all.empty()) return nullptr;
  const range found = range_of(all);
  return {{"least", found.least}, {"median", found.median}, {"most", found.most}};
}

std::string count_or_never(double count) { return count < never ? fmt::format("{:.0f}", count) : "never"; }

/// Our fastest row, or the one named `only`, against the fastest peer, or the fastest of one format; none
/// where either is missing.
std::optional<comparison> compare(const bench_matrix& matrix, std::string_view only = {},
                                  std::string_view format = {}) {
  // The tables say which vary too much.
  const bench_result* const peer = matrix.fastest(true, false, format);
  const bench_result* const ours = only.empty() ? matrix.fastest(false, false) : matrix.find_timed(only);
  if (peer == nullptr || ours == nullptr || !(ours->time.seconds > 0)) return std::nullopt;
  return comparison{matrix.name, ours->name, peer->name, peer->time.seconds / ours->time.seconds};
}

json json_of(const std::optional<comparison>& found) {
  if (!found) return nullptr;
  return {{"kernel", found->ours}, {"peer", found->peer}, {"times_as_fast", found->ratio}};
}

/// The time of the plan relative to that of our fastest kernel; none where no kernel was timed beside it.
std::optional<double> times_our_fastest(const bench_matrix& matrix) {
  const bench_result* const made = matrix.find_timed(plan_name);
  double least = never;
  for (const bench_result& r : matrix.results)
    if (!r.is_peer && r.name != plan_name && r.is_right()) least = std::min(least, r.time.seconds);
  if (made == nullptr || !(least > 0 && least < never)) return std::nullopt;
  return made->time.seconds / least;
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
  return {{"best", json_of(compare(matrix))},
          {"plan", json_of(compare(matrix, plan_name))},
          {"plan_in_csr", json_of(compare(matrix, plan_name, "csr"))}};
}

void bench_summary::add(const bench_matrix& matrix, const bench_setting& setting) {
  const auto add_to = [&](figures& all) {
    ++all.matrices;
    if (const auto found = compare(matrix)) all.best.push_back(*found);
    if (const auto found = compare(matrix, plan_name)) all.plan.push_back(*found);
    if (const auto found = compare(matrix, plan_name, "csr")) all.plan_in_csr.push_back(*found);
    if (const auto times = times_our_fastest(matrix)) all.times_fastest.push_back(*times);
    const bench_result* const best = matrix.plan_or_fastest();
    if (matrix.limit_seconds && best != nullptr && best->time.seconds > 0)
      all.limit.push_back(*matrix.limit_seconds / best->time.seconds);
    const bench_result* const made = matrix.find_timed(plan_name);
    if (made == nullptr || matrix.csr_bytes == 0) return;
    all.ceiling.push_back(matrix.bytes_per_second(*made) / setting.ceiling());
    all.memory.push_back(static_cast<double>(made->size.bytes) / static_cast<double>(matrix.csr_bytes));
    all.paid.push_back(matrix.pays_after(*made, setting).value_or(never));
  };
  of_precision& found = matrix.precision == std::string_view("float") ? float_ : double_;
  add_to(found.all);
  if (matrix.entries > large) add_to(found.large);
}

void bench_summary::add_unread(const std::string& matrix, const std::string& why) {
  unread_.push_back({{"matrix", matrix}, {"why", why}});
}

std::string bench_summary::text_of(const char* precision, const of_precision& found) {
  const bool is_split = found.large.matrices >= 2 && found.large.matrices < found.all.matrices;
  std::vector<std::string> titles{fmt::format("summary, {}", precision),
                                  fmt::format("{} matrices", found.all.matrices)};
  if (is_split)
    titles.push_back(fmt::format("{} of more than {} entries", found.large.matrices, grouped(large)));
  table out(std::move(titles));
  const auto add = [&](const char* what, bool is_known, auto text) {
    if (!is_known) return;
    std::vector<std::string> row{what, text(found.all)};
    if (is_split) row.push_back(text(found.large));
    out.add(std::move(row));
  };
  const figures& all = found.all;
  add("fastest of ours against the fastest peer", !all.best.empty(),
      [](const figures& f) { return ratio_text(f.best); });
  add("plan against the fastest peer", !all.plan.empty(),
      [](const figures& f) { return ratio_text(f.plan); });
  add("plan against the fastest peer in CSR", !all.plan_in_csr.empty(),
      [](const figures& f) { return ratio_text(f.plan_in_csr); });
  add("plan within 5 % of our fastest", !all.times_fastest.empty(),
      [](const figures& f) { return fmt::format("{} of {}", f.count_close(), f.times_fastest.size()); });
  add(all.paid.empty() ? "fastest of ours, percent of the limit" : "plan, percent of the limit",
      !all.limit.empty(), [](const figures& f) { return percent_text(f.limit); });
  add("plan, percent of the ceiling", !all.ceiling.empty(),
      [](const figures& f) { return percent_text(f.ceiling); });
  add("plan, memory relative to CSR", !all.memory.empty(), [](const figures& f) {
    if (f.memory.empty()) return std::string("–");
    const range memory = range_of(f.memory);
    return fmt::format("{:.2f} × in the median, at most {:.2f} ×", memory.median, memory.most);
  });
  add("plan, multiplies until paid back", !all.paid.empty(), [](const figures& f) {
    if (f.paid.empty()) return std::string("–");
    const range paid = range_of(f.paid);
    return fmt::format("{} in the median, {} at worst", count_or_never(paid.median),
                       count_or_never(paid.most));
  });
  return out.text();
}

std::int64_t bench_summary::figures::count_close() const {
  return std::count_if(times_fastest.begin(), times_fastest.end(),
                       [](double times) { return times <= close; });
}

std::string bench_summary::text() const {
  std::string out;
  for (const auto& [precision, found] : {std::pair("float", &float_), std::pair("double", &double_)})
    if (found->all.matrices >= 2) out += (out.empty() ? "" : "\n") + text_of(precision, *found);
  if (!unread_.empty())
    out += fmt::format("  {} could not be read\n",
                       unread_.size() == 1 ? "1 matrix" : fmt::format("{} matrices", unread_.size()));
  return out;
}

json bench_summary::figures::json_value() const {
  return {
      {"matrices", matrices},
      {"best", ratio_json(best)},
      {"plan", ratio_json(plan)},
      {"plan_in_csr", ratio_json(plan_in_csr)},
      {"plan_within_5_percent",
       times_fastest.empty() ? json() : json{{"matrices", times_fastest.size()}, {"within", count_close()}}},
      {"fraction_of_limit", range_json(limit)},
      {"plan_fraction_of_ceiling", range_json(ceiling)},
      {"plan_times_csr_bytes", range_json(memory)},
      {"plan_pays_after", range_json(paid)}};
}

json bench_summary::json_value() const {
  json out;
  for (const auto& [precision, found] : {std::pair("float", &float_), std::pair("double", &double_)}) {
    out[precision] = found->all.json_value();
    out[precision]["of_more_than_10000_entries"] = found->large.json_value();
  }
  out["could_not_be_read"] = unread_;
  return out;
}

}  // namespace nz::cli
