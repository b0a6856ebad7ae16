#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <nonzero/core/threads.hpp>
#include <nonzero/core/vector.hpp>
#include <nonzero/core/version.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/plan/back_ends.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/limit_internal.hpp>
#include <nonzero/plan/measuring_internal.hpp>

namespace nz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The least samples: they are many sizes.
constexpr measure_options brief{.budget_seconds = 0};
constexpr std::uint64_t mebibyte = 1 << 20;

read_curve measure_cpu(const std::shared_ptr<device>& on) {
  constexpr std::uint64_t most_for_one_thread = mebibyte;  // above it, more threads are always faster
  const std::uint64_t last =
      std::min(std::clamp(8 * on->cache_bytes(), 256 * mebibyte, 1024 * mebibyte), on->memory_bytes() / 8);
  read_curve out{{{0, 0}}};
  for (std::uint64_t bytes = mebibyte / 4; bytes <= last; bytes *= 2) {
    read_curve::point best = measure_read_on_cpu(on, bytes, thread_count(0), brief);
    if (bytes <= most_for_one_thread)
      best.seconds = std::min(best.seconds, measure_read_on_cpu(on, bytes, 1, brief).seconds);
    if (best.bytes > out.points.back().bytes) out.points.push_back(best);
  }
  return out;
}

read_curve measure_gpu(const std::shared_ptr<device>& on, bool is_replayed) {
  std::vector<std::uint64_t> sizes{0};
  if (on->kind() == device_kind::emulator) sizes.push_back(64 << 10);
  constexpr std::uint64_t tenth = 100'000;  // of a megabyte; 80 MB are more than the L2 of an H200
  if (on->kind() == device_kind::cuda)
    for (const std::uint64_t tenths : {5, 10, 20, 50, 100, 200, 300, 400, 800, 10000})
      sizes.push_back(tenths * tenth);
  while (sizes.size() > 2 && sizes.back() > on->memory_bytes() / 8) sizes.pop_back();
  vector<std::uint64_t> from;
  while (from.size() == 0) try {
      from = ones<std::uint64_t>(on, sizes.back() / sizeof(std::uint64_t));
    } catch (const device_error&) {  // others use the memory
      if (sizes.size() == 2) throw;
      sizes.pop_back();
    }
  vector<std::uint32_t> sink(on, 1);
  read_curve out;
  for (const std::uint64_t bytes : sizes) {
    const auto read = [&](stream in) {
      back_end_for(on->kind()).read(*on, from.data(), bytes, sink.data(), in);
    };
    const timed_calls run = [&](int calls) { return on->measure(calls, read, is_replayed); };
    const timed_calls rounds[] = {run, run, run};  // other work on the machine only adds to the best of them
    double best = std::numeric_limits<double>::infinity();
    for (const timing& found : measure_in_turns(on->kind(), rounds, {.budget_seconds = 0}))
      best = std::min(best, found.seconds);
    out.points.push_back({bytes, best});
  }
  return out;
}

// The file: {"nonzero_read_curves": 2, "curves": {KEY: [[bytes, seconds], ...]}}.
constexpr int file_version = 2;
constexpr const char *version_field = "nonzero_read_curves", *curves_field = "curves";
constexpr std::uintmax_t most_bytes = 1 << 20;

using curves = std::map<std::string, read_curve>;

std::string key_for(const device& on, bool is_replayed) {
  std::string out = on.description();
  if (on.kind() == device_kind::cpu)
    out += fmt::format(",{}, {} bytes of cache", processor_name(), on.cache_bytes());
  return fmt::format("{}{}, nonzero {}", out,
                     is_replayed && on.kind() == device_kind::cuda ? ", replayed" : "", version_string);
}

/// None where it is no curve.
std::optional<read_curve> curve_of(const json& points) {
  read_curve out;
  if (!points.is_array()) return std::nullopt;
  for (const json& one : points) {
    if (!one.is_array() || one.size() != 2 || !one[0].is_number_unsigned() || !one[1].is_number())
      return std::nullopt;
    const read_curve::point found{one[0], one[1]};
    const bool is_first = out.points.empty();
    if (!(found.seconds >= 0) || (is_first ? found.bytes != 0 : found.bytes <= out.points.back().bytes))
      return std::nullopt;
    out.points.push_back(found);
  }
  return out.points.size() < 2 ? std::nullopt : std::optional(out);
}

/// Those that are valid.
curves read_curves(const fs::path& file) {
  curves out;
  std::error_code reason;
  if (!fs::is_regular_file(file, reason) || fs::file_size(file, reason) > most_bytes || reason) return out;
  std::ifstream in(file, std::ios::binary);
  const json all = json::parse(std::string(std::istreambuf_iterator<char>(in), {}), nullptr, false);
  if (!all.is_object() || all.value(version_field, json()) != file_version) return out;
  const json found = all.value(curves_field, json());
  if (!found.is_object()) return out;
  for (const auto& [key, points] : found.items())
    if (auto curve = curve_of(points)) out[key] = std::move(*curve);
  return out;
}

void write_curves(const fs::path& path, const curves& all) {
  json found = json::object();
  for (const auto& [key, curve] : all)
    for (const read_curve::point& one : curve.points) found[key].push_back({one.bytes, one.seconds});
  const std::string text = json{{version_field, file_version}, {curves_field, found}}.dump(
      2, ' ', false, json::error_handler_t::replace);
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  try {
    output_file file(path);
    file.write(text.data(), text.size());
    file.commit();
  } catch (const error&) {  // it is measured again next time
  }
}

}  // namespace

double read_curve::seconds_for(std::uint64_t bytes) const {
  if (points.empty()) return 0;
  const auto above = std::ranges::lower_bound(points, bytes, {}, &point::bytes);
  const point& last = points.back();
  if (above == points.end())
    return last.seconds * static_cast<double>(bytes) / std::max(1.0, static_cast<double>(last.bytes));
  if (above == points.begin()) return above->seconds;
  const point& below = *(above - 1);
  const auto part = static_cast<double>(bytes - below.bytes);
  return std::lerp(below.seconds, above->seconds, part / static_cast<double>(above->bytes - below.bytes));
}

read_curve measure_read_curve(const std::shared_ptr<device>& on, bool is_replayed) {
  read_curve out = on->kind() == device_kind::cpu ? measure_cpu(on) : measure_gpu(on, is_replayed);
  // Fewer bytes take no longer: where they did, other work was in the way.
  for (std::size_t i = out.points.size() - 1; i > 0; --i)
    out.points[i - 1].seconds = std::min(out.points[i - 1].seconds, out.points[i].seconds);
  return out;
}

read_curve recall_read_curve(const std::shared_ptr<device>& on, bool is_replayed, const fs::path& file) {
  const std::string key = key_for(*on, is_replayed);
  if (file.empty()) return measure_read_curve(on, is_replayed);
  curves known = read_curves(file);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  read_curve out = measure_read_curve(on, is_replayed);
  known = read_curves(file);  // another process may have added one meanwhile
  known[key] = out;
  write_curves(file, known);
  return out;
}

}  // namespace nz
