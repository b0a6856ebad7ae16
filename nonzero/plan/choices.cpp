#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include <nonzero/core/hash.hpp>
#include <nonzero/core/version.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/plan/choices_internal.hpp>
#include <nonzero/plan/kernels.hpp>

namespace nz {
namespace {

namespace fs = std::filesystem;
// Sorted: an ordered_json takes quadratic time to read many choices.
using nlohmann::json;

constexpr int file_version = 1;
constexpr const char *version_field = "nonzero_choices", *choices_field = "choices";
/// Of a file: tens of thousands of choices. A full one is read, and takes no more.
constexpr std::uintmax_t most_bytes = std::uintmax_t{16} << 20;
/// Of what a file holds, which is written recursively; a choice is at level 3.
constexpr int deepest = 100;

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

parse_error not_choices(const std::string& file, std::string_view why) {
  return parse_error(fmt::format("{}: not a file of choices: {}; name another, or delete it", file, why));
}

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size() && depth <= deepest; ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (is_quoted && text[i] == '\\') ++i;
    if (is_quoted || i >= text.size()) continue;
    depth += text[i] == '[' || text[i] == '{';
    depth -= text[i] == ']' || text[i] == '}';
  }
  return depth > deepest;
}

/// The bytes of the file; nothing where there is none.
std::optional<std::string> text_of(const std::string& file) {
  std::error_code failure;
  const fs::file_status found = fs::status(file, failure);
  if (found.type() == fs::file_type::not_found) {
    if (fs::is_symlink(file, failure)) throw not_choices(file, "it is a link to a file that does not exist");
    return std::nullopt;
  }
  if (!fs::status_known(found)) throw parse_error(fmt::format("{}: {}", file, failure.message()));
  if (!fs::is_regular_file(found)) throw not_choices(file, "it is no regular file");
  if (fs::file_size(file, failure) > most_bytes) throw not_choices(file, "it is too large");
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in)
    throw parse_error(fmt::format("{}: cannot be read, or is empty; name another, or delete it", file));
  return std::move(text).str();
}

/// The file as JSON; one without choices where there is none.
json read_choices(const std::string& file) {
  const auto text = text_of(file);
  if (!text) return {{version_field, file_version}, {choices_field, json::object()}};
  if (is_too_deep(*text)) throw not_choices(file, "it is nested too deeply");
  json out = json::parse(*text, nullptr, false);
  if (out.is_discarded()) throw not_choices(file, "it is not JSON");
  if (!out.is_object() || !out.contains(version_field) || out[version_field] != file_version)
    throw not_choices(file, fmt::format("no \"{}\": {}", version_field, file_version));
  if (!out.contains(choices_field) || !out[choices_field].is_object())
    throw not_choices(file, fmt::format("no object \"{}\"", choices_field));
  return out;
}

/// While it lives, no other thread or process has the lock of the file's folder. The file itself is replaced
/// when it is written, and a file beside it would stay.
class folder_lock {
 public:
  explicit folder_lock(const std::string& file) {
    std::error_code none;
    fs::path target = fs::canonical(file, none);  // one lock, whatever links lead there
    if (none) target = fs::absolute(file);
    folder_ = ::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Not for ever: anyone who may list the folder can hold its lock. Without it a choice may get lost.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (::flock(folder_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~folder_lock() {
    if (folder_ >= 0) ::close(folder_);
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int folder_;
};

/// The machine that a report names, and what chooses for it: a new version or a new kernel may choose
/// otherwise.
std::uint64_t machine_hash(const plan_report& report) {
  key_hash out;
  out.add(name_of(report.kind));
  out.add(report.machine);
  if (report.kind == device_kind::cpu) {
    out.add(processor_name());
    out.add(cpu_device()->cache_bytes());
  }
  out.add(version_string);
  for (const kernel_row& kernel : kernels())
    if (kernel.runs_on == report.kind) out.add(kernel.name);
  return out.value();
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string out;
  for (std::string line; std::getline(file, line) && !line.empty();)  // the first core
    for (const char* field : {"model name", "CPU implementer", "CPU part", "CPU variant"})
      if (line.starts_with(field)) out += line.substr(std::min(line.find(':') + 1, line.size()));
  return out;
}

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
  const json all = read_choices(file);
  const auto found = all[choices_field].find(key);
  if (found == all[choices_field].end()) {
    const output_file writable(file);  // or else measure for nothing
    return std::nullopt;
  }
  const json kernel = found->is_object() ? found->value("kernel", json()) : json();
  const json order = found->is_object() ? found->value("reordered", json()) : json();
  if (!kernel.is_string() || !order.is_boolean())
    throw not_choices(
        file, fmt::format("the choice {} has no kernel, or does not say whether it is reordered", key));
  return remembered_choice{kernel, order};
}

void remember_choice(const std::string& file, const std::string& key, const plan_report& report) {
  const folder_lock only_one(file);
  json all = read_choices(file);
  all[choices_field][key] = {
      {"kernel", report.kernel},
      {"reordered", report.is_reordered},
      {"matrix", fmt::format("{} x {}, {} entries", report.rows, report.cols, report.entries)},
      {"machine", report.machine},
      {"expected_multiplies", report.expected_multiplies},
      {"seconds", report.chosen_seconds},
      {"csr_seconds", report.csr_seconds}};
  const std::string text = all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  if (text.size() > most_bytes) return;  // it would not be read again
  output_file out(file);
  out.write(text.data(), text.size());
  out.commit();
}

}  // namespace nz
