#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include <nonzero/core/version.hpp>

#include "bench.hpp"

namespace nz::cli {
namespace {

/// Three digits: 0.123, 1.23, 12.3, 1234.
std::string three_digits(double value) {
  const int decimals = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string time_text(double seconds) {
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " µs";
  if (seconds < 0.9995) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string rate_text(double bytes_per_second) { return three_digits(bytes_per_second * 1e-9); }

/// Half the interquartile range, in percent of the median.
std::string spread_text(const timing& time) {
  return time.seconds > 0 ? fmt::format("{:.1f} %", 50 * (time.high - time.low) / time.seconds) : "–";
}

std::string count_text(double count) {
  return count < 1e6 ? grouped(static_cast<std::int64_t>(count)) : fmt::format("{:.1e}", count);
}

std::string cache_text(const bench_matrix& matrix, const device& on) {
  const std::uint64_t cache = on.cache_bytes();
  std::string takes = format_bytes(matrix.compulsory_bytes) + " with x and y";
  if (cache == 0 || on.kind() == device_kind::emulator) return takes;
  if (matrix.compulsory_bytes <= cache)
    return fmt::format("{}: fits in the {} cache, so the figures are those of the cache", takes,
                       format_bytes(cache));
  return fmt::format("{}: {:.1f} times the {} cache", takes,
                     static_cast<double>(matrix.compulsory_bytes) / static_cast<double>(cache),
                     format_bytes(cache));
}

std::string note_for(const bench_matrix& matrix, const bench_result& r) {
  const bench_result* const fastest = matrix.fastest();
  std::string out;
  if (&r == fastest)
    out = "fastest";
  else if (&r == matrix.fastest(false))
    out = "fastest of ours";
  else if (!is_steady(r.time) && (fastest == nullptr || r.time.seconds < fastest->time.seconds))
    out = "varies too much to compare";
  else if (fastest != nullptr && is_steady(r.time) && r.time.low <= fastest->time.high)
    out = "as fast, within the spread";
  for (const std::string& more : {r.version, std::string(r.is_reordered ? "reordered" : "")})
    if (!more.empty()) out += (out.empty() ? "" : ", ") + more;
  return out;
}

/// "  limit 12.3 µs, to read the compulsory bytes: plan reaches 62 %", or nothing.
std::string limit_text(const bench_matrix& matrix) {
  const bench_result* const best = matrix.plan_or_fastest();
  if (!matrix.limit_seconds || best == nullptr || !(best->time.seconds > 0)) return "";
  return fmt::format("  limit {}, to read the compulsory bytes: {} reaches {:.0f} %\n",
                     time_text(*matrix.limit_seconds), best->name,
                     100 * *matrix.limit_seconds / best->time.seconds);
}

json points_of(const read_curve& curve) {
  json out = json::array();
  for (const read_curve::point& one : curve.points)
    out.push_back({{"bytes", one.bytes}, {"seconds", one.seconds}});
  return out;
}

constexpr int most_left_out = 6;

/// The cells of a row, or the titles where r is null, without the `left_out` least important columns.
std::vector<std::string> cells_of(const bench_matrix& matrix, const bench_setting& setting,
                                  const bench_result* r, int left_out) {
  std::vector<std::string> out;
  const auto add = [&](bool is_wanted, const char* title, auto value) {
    if (is_wanted) out.push_back(r == nullptr ? title : value());
  };
  const double rate = r == nullptr ? 0 : matrix.bytes_per_second(*r);
  const bench_result* const baseline = matrix.find_baseline(setting);
  const auto pays_text = [&]() -> std::string {
    const std::optional<double> multiplies = matrix.pays_after(*r, setting);
    if (!multiplies) return r == baseline ? "baseline" : "–";
    return *multiplies == 0 ? "at once" : count_text(*multiplies);
  };
  // One word, or a kernel's name would be read as the format.
  add(true, "kernel", [&] { return r->name + (r->chosen.empty() ? "" : ":" + r->chosen); });
  add(left_out < 2, "format", [&] { return r->format; });
  add(left_out < 3, ">error/bound", [&] { return fmt::format("{:.3f}", static_cast<double>(r->error)); });
  add(true, ">time", [&] { return time_text(r->time.seconds); });
  add(left_out < 4, ">±", [&] { return spread_text(r->time); });
  add(true, ">GFLOP/s", [&] { return three_digits(matrix.gigaflops(*r)); });
  add(left_out < 6, ">GB/s", [&] { return rate_text(rate); });
  add(true, ">ceiling", [&] { return fmt::format("{:.1f} %", 100 * rate / setting.ceiling()); });
  add(left_out < 5, ">convert", [&] { return time_text(r->prepare_seconds); });
  add(baseline != nullptr && left_out < 5, ">pays after", pays_text);
  add(left_out < 1, "", [&] { return note_for(matrix, *r); });
  return out;
}

table table_of(const bench_matrix& matrix, const bench_setting& setting, int left_out) {
  table out(cells_of(matrix, setting, nullptr, left_out));
  bool among_peers = false;
  for (const bench_result& r : matrix.results) {
    if (r.is_peer && !among_peers) out.add({faint("others' kernels, to compare with:")});
    among_peers = r.is_peer;
    std::vector<std::string> row = cells_of(matrix, setting, &r, left_out);
    if (&r == matrix.fastest() || &r == matrix.fastest(false))
      for (std::string& cell : row) cell = bold(cell);
    if (!r.is_right()) {
      row.resize(left_out >= 2 ? 1 : 2);  // the name, and the format where there is room
      row.push_back(r.is_refused() || !r.failure.empty()
                        ? verdict_text(r, setting.budget)
                        : fmt::format("{}, {:.3g} times the error bound: not timed", red("WRONG"),
                                      static_cast<double>(r.error)));
    }
    out.add(std::move(row));
  }
  return out;
}

}  // namespace

const bench_result* bench_matrix::find_baseline(const bench_setting& setting) const {
  for (const std::string_view baseline : setting.baselines)
    if (const bench_result* const found = find_timed(baseline)) return found;
  return nullptr;
}

const bench_result* bench_matrix::find_timed(std::string_view wanted) const {
  for (const bench_result& r : results)
    if (r.name == wanted && r.is_right()) return &r;
  return nullptr;
}

const bench_result* bench_matrix::fastest(std::optional<bool> is_peer, bool steady_only,
                                          std::string_view format) const {
  const bench_result* best = nullptr;
  for (const bench_result& r : results)
    if (r.is_right() && (is_steady(r.time) || !steady_only) && is_peer.value_or(r.is_peer) == r.is_peer &&
        (format.empty() || r.format == format) && (best == nullptr || r.time.seconds < best->time.seconds))
      best = &r;
  return best;
}

std::optional<double> bench_matrix::pays_after(const bench_result& r, const bench_setting& setting) const {
  const bench_result* const plans = r.name == plan_name ? find_timed(setting.plan_baseline) : nullptr;
  const bench_result* const baseline = plans ? plans : find_baseline(setting);
  if (baseline == nullptr || baseline == &r || !r.is_right()) return std::nullopt;
  const double gained = baseline->time.seconds - r.time.seconds;
  if (!(gained > 0)) return std::nullopt;
  // Nothing is converted for another kernel of the same format.
  if (r.format == baseline->format && r.name != plan_name && !r.is_peer && !baseline->is_peer) return 0;
  if (plans) return std::ceil(r.prepare_seconds / gained);  // the baseline uses the same CSR, without a plan
  return std::max(0.0, std::ceil((r.prepare_seconds - baseline->prepare_seconds) / gained));
}

std::string setting_text(const bench_setting& setting) {
  const bool is_emulated = setting.on->kind() == device_kind::emulator;
  const std::string reads =
      setting.read_ceiling ? fmt::format("reads {} GB/s: the ceiling; ", rate_text(*setting.read_ceiling))
                           : "";
  const bool is_gpu = setting.on->kind() == device_kind::cuda && setting.reads;
  const std::string launch =
      is_gpu ? fmt::format("; a launch that does nothing takes {}", time_text(setting.reads->seconds_for(0)))
             : "";
  return fmt::format("{}  {}\n  {}copies {} GB/s, read and written{}{}{}\n",
                     bold(name_of(setting.on->kind())), setting.on->description(), reads,
                     rate_text(setting.copy_ceiling), setting.read_ceiling ? "" : ": the ceiling", launch,
                     is_emulated ? "; these times do not predict those of a GPU" : "");
}

std::string matrix_text(const bench_matrix& matrix, const bench_setting& setting) {
  const std::string title = fmt::format(
      "{}, {}{}\n  {}\n", title_text(matrix.name, matrix.rows, matrix.cols, matrix.entries), matrix.precision,
      setting.values == "random" ? ", random values" : "", cache_text(matrix, *setting.on));
  table made = table_of(matrix, setting, 0);
  if (::isatty(STDOUT_FILENO) == 1) {
    const int room = terminal_size(STDOUT_FILENO).columns;
    for (int out = 1; out <= most_left_out && made.width() > room; ++out)
      made = table_of(matrix, setting, out);
  }
  const bool has_times = std::any_of(matrix.results.begin(), matrix.results.end(),
                                     [](const bench_result& r) { return r.is_right(); });
  std::string notes;
  if (has_times && matrix.fastest() == nullptr)
    notes = fmt::format(
        "  no row is called fastest: all times vary by more than ± {:.0f} %; give --seconds more, or "
        "the machine less else to do\n",
        100 * most_spread);
  if (!matrix.note.empty()) notes += "  " + matrix.note + "\n";
  return title + made.text() + limit_text(matrix) + notes;
}

json json_of(const bench_setting& setting, const std::vector<json>& matrices) {
  return {{"version", version()},
          {"device",
           {{"name", name_of(setting.on->kind())},
            {"description", setting.on->description()},
            {"cache_bytes", setting.on->cache_bytes()},
            {"memory_bytes", setting.on->memory_bytes()}}},
          {"copy_bytes_per_second", setting.copy_ceiling},
          {"read_bytes_per_second", setting.read_ceiling},
          {"ceiling_bytes_per_second", setting.ceiling()},
          {"read_curve", setting.reads ? points_of(*setting.reads) : json()},
          {"padding_budget", setting.budget.times_csr},
          {"seconds_per_kernel", setting.seconds},
          {"in_turns", setting.with_peers},
          {"replayed", setting.is_replayed},
          {"matrices", matrices}};
}

json json_of(const bench_matrix& matrix, const bench_setting& setting) {
  std::vector<json> results;
  for (const bench_result& r : matrix.results) {
    json row = {{"kernel", r.name}, {"format", r.format}, {"peer", r.is_peer}, {"verdict", r.verdict()}};
    if (!r.chosen.empty()) {
      row["chosen_kernel"] = r.chosen;
      row["reordered"] = r.is_reordered;
    }
    if (r.kernel != nullptr) {  // the program of a peer does not report its memory
      row["bytes"] = r.bytes_json();
      row["padding_bytes"] = r.padding_json();
    }
    if (!r.version.empty()) row["version"] = r.version;
    row.update(r.error_json());
    if (r.is_right())
      row.update({{"seconds", r.time.seconds},
                  {"low_quartile", r.time.low},
                  {"high_quartile", r.time.high},
                  {"steady", is_steady(r.time)},
                  {"samples", r.time.samples},
                  {"calls_per_sample", r.time.calls_per_sample},
                  {"gflops", matrix.gigaflops(r)},
                  {"bytes_per_second", matrix.bytes_per_second(r)},
                  {"fraction_of_ceiling", matrix.bytes_per_second(r) / setting.ceiling()},
                  {"fraction_of_limit", matrix.limit_seconds && r.time.seconds > 0
                                            ? json(*matrix.limit_seconds / r.time.seconds)
                                            : json()},
                  {"prepare_seconds", r.prepare_seconds},
                  {"pays_after", matrix.pays_after(r, setting)}});
    results.push_back(std::move(row));
  }
  const bench_result* const baseline = matrix.find_baseline(setting);
  return joined(
      matrix_json(matrix.name, matrix.precision, setting.values, matrix.rows, matrix.cols, matrix.entries),
      {{"compulsory_bytes", matrix.compulsory_bytes},
       {"limit_seconds", matrix.limit_seconds},
       {"fits_in_cache", matrix.compulsory_bytes <= setting.on->cache_bytes()},
       {"baseline", baseline ? json(baseline->name) : json()},
       {"note", matrix.note},
       {"results", results}});
}

}  // namespace nz::cli
