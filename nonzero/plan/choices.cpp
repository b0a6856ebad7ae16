#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <nonzero/core/hash.hpp>
#include <nonzero/core/version.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {
namespace {

using nlohmann::ordered_json;

constexpr int file_version = 1;
constexpr const char *version_field = "nonzero_choices", *choices_field = "choices";
/// Of a file: hundreds of thousands of choices.
constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;

/// A hash of numbers and texts, one after the other.
class key_hash {
 public:
  void add(std::uint64_t number) { value_ = hash(value_, number); }
  void add(std::string_view text) {
    add(text.size());  // "ab", "c" is not "a", "bc"
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// What Linux says of the processor: its name, or on ARM the numbers that stand for it. Empty where it says
/// nothing.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string out;
  for (std::string line; std::getline(file, line) && !line.empty();)  // the first core
    for (const char* field : {"model name", "CPU implementer", "CPU part", "CPU variant"})
      if (line.starts_with(field)) out += line.substr(std::min(line.find(':') + 1, line.size()));
  return out;
}

parse_error not_choices(const std::string& file, std::string_view why) {
  return parse_error(fmt::format("{}: not a file of choices: {}; name another, or delete it", file, why));
}

/// The file as JSON; an empty one where there is none.
ordered_json read_choices(const std::string& file) {
  std::error_code failure;
  if (!std::filesystem::exists(file, failure))
    return {{version_field, file_version}, {choices_field, ordered_json::object()}};
  if (!std::filesystem::is_regular_file(file, failure)) throw not_choices(file, "it is no regular file");
  if (std::filesystem::file_size(file, failure) > most_bytes) throw not_choices(file, "it is too large");
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw parse_error(fmt::format("{}: cannot be read", file));
  ordered_json out = ordered_json::parse(text.str(), nullptr, false);
  if (out.is_discarded()) throw not_choices(file, "it is not JSON");
  if (!out.is_object() || !out.contains(version_field) || out[version_field] != file_version)
    throw not_choices(file, fmt::format("no \"{}\": {}", version_field, file_version));
  if (!out.contains(choices_field) || !out[choices_field].is_object())
    throw not_choices(file, fmt::format("no object \"{}\"", choices_field));
  return out;
}

/// A file that is removed unless it takes the place of another.
class replacement {
 public:
  explicit replacement(const std::string& file)
      : file_(file), own_(fmt::format("{}.{}.tmp", file, getpid())) {}
  ~replacement() { std::remove(own_.c_str()); }
  replacement(const replacement&) = delete;
  replacement& operator=(const replacement&) = delete;

  void write(const std::string& text) {
    std::ofstream out(own_, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (!out || std::rename(own_.c_str(), file_.c_str()) != 0)
      throw error(fmt::format("{}: cannot be written: {}", file_, std::strerror(errno)));
  }

 private:
  std::string file_, own_;
};

/// The machine that a report names, and what chooses for it: a new version or a new kernel may choose
/// otherwise.
std::uint64_t machine_hash(const plan_report& report) {
  key_hash out;
  out.add(name_of(report.kind));
  out.add(report.machine);
  if (report.kind == device_kind::cpu) {
    out.add(processor());
    out.add(cpu_device()->cache_bytes());
  }
  out.add(version_string);
  for (const kernel_row& kernel : kernels())
    if (kernel.runs_on == report.kind) out.add(kernel.name);
  return out.value();
}

}  // namespace

std::string choice_key(std::span<const std::uint64_t> fingerprint, const plan_options& options,
                       const plan_report& report) {
  key_hash matrix, asked;
  matrix.add(std::uint64_t{report.value_bytes});
  matrix.add(static_cast<std::uint64_t>(report.rows));
  matrix.add(static_cast<std::uint64_t>(report.cols));
  matrix.add(static_cast<std::uint64_t>(report.entries));
  for (const std::uint64_t word : fingerprint) matrix.add(word);
  if (report.vector_bytes != report.value_bytes) asked.add(std::uint64_t{report.vector_bytes});
  // A choice for 200 multiplies is good for 300, and one for 1.15 times CSR's memory for 1.2.
  asked.add(
      static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(options.expected_multiplies))));
  const double times_csr = report.memory_budget / static_cast<double>(report.csr_bytes);
  asked.add(static_cast<std::uint64_t>(std::clamp(times_csr, 0.0, 100.0) * 10));
  asked.add(std::uint64_t{options.are_steps} << 2 | std::uint64_t{options.deterministic} << 1 |
            std::uint64_t{options.may_reorder});
  return fmt::format("{:016x}-{:016x}-{:016x}", matrix.value(), machine_hash(report), asked.value());
}

std::optional<remembered_choice> recall_choice(const std::string& file, const std::string& key) {
  const ordered_json all = read_choices(file);
  const auto found = all[choices_field].find(key);
  if (found == all[choices_field].end()) return std::nullopt;
  const ordered_json kernel = found->is_object() ? found->value("kernel", ordered_json()) : ordered_json();
  const ordered_json order = found->is_object() ? found->value("reordered", ordered_json()) : ordered_json();
  if (!kernel.is_string() || !order.is_boolean())
    throw not_choices(
        file, fmt::format("the choice {} has no kernel, or does not say whether it is reordered", key));
  return remembered_choice{kernel, order};
}

void remember_choice(const std::string& file, const std::string& key, const plan_report& report) {
  ordered_json all = read_choices(file);
  all[choices_field][key] = {
      {"kernel", report.kernel},
      {"reordered", report.is_reordered},
      {"matrix", fmt::format("{} x {}, {} entries", report.rows, report.cols, report.entries)},
      {"machine", report.machine},
      {"expected_multiplies", report.expected_multiplies},
      {"seconds", report.chosen_seconds},
      {"csr_seconds", report.csr_seconds}};
  replacement(file).write(all.dump(2) + "\n");
}

}  // namespace nz
