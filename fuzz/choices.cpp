// Any bytes as a file of choices: they are read or refused with an error that names the file. A refusal
// leaves the file as it is; a choice that is added is found again, and all that was there before is still
// there.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fuzz/checks.hpp>
#include <nlohmann/json.hpp>

#include <nonzero/core/errors.hpp>
#include <nonzero/plan/choices_internal.hpp>

namespace fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A folder in memory; removed at the end.
struct folder {
  std::string path = "/dev/shm/nonzero-fuzz-XXXXXX";
  folder() { require(::mkdtemp(path.data()) != nullptr); }
  ~folder() { fs::remove_all(path); }
};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Whether `call` succeeds. It throws nothing but the library's errors, which start with the file's name.
template <class Call> bool succeeds(const std::string& file, const Call& call) {
  try {
    call();
    return true;
  } catch (const nz::error& e) {
    require(std::string_view(e.what()).starts_with(file + ":"));
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const folder place;
  static const std::string file = place.path + "/choices.json", key = "key";
  const std::string before(reinterpret_cast<const char*>(bytes), size);
  std::ofstream(file, std::ios::binary) << before;

  const bool is_read = succeeds(file, [] { nz::recall_choice(file, key); });
  require(text_of(file) == before);
  nz::plan_report report;
  report.kernel = "ell";
  if (!succeeds(file, [&report] { nz::remember_choice(file, key, report); })) {
    require(!is_read && text_of(file) == before);
    return 0;
  }
  const auto found = nz::recall_choice(file, key);
  require(found && found->kernel == "ell" && !found->is_reordered);
  json old = json::parse(before), now = json::parse(text_of(file));
  old["choices"].erase(key);
  now["choices"].erase(key);
  require(old == now);
  require(std::distance(fs::directory_iterator(place.path), {}) == 1);
  return 0;
}

}  // namespace fuzz
