// Any text: it is read or refused, the same by one thread in one block and by three in blocks of a line or
// two; what is read is valid, agrees with a reader written in the plainest way, and survives being written
// and read again.

#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <variant>

#include <fuzz/checks.hpp>
#include <unistd.h>

#include <nonzero/io/matrix_market.hpp>

namespace fuzz {
namespace {

std::variant<csr<double>, std::string> read(std::string_view text, int threads, std::size_t block_bytes) {
  try {
    return nz::parse_matrix_market<double>(text, "text",
                                           {.threads = threads, .progress = {}, .block_bytes = block_bytes});
  } catch (const nz::error& e) {
    return std::string(e.what());
  }
}

bool is_same(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

bool is_same(const csr<double>& a, const csr<double>& b) {
  if (a.rows != b.rows || a.cols != b.cols || a.row_begin != b.row_begin || a.col != b.col) return false;
  for (std::size_t k = 0; k < a.val.size(); ++k)
    if (!is_same(a.val[k], b.val[k])) return false;
  return true;
}

/// The lines of a text that are neither blank nor comments, each as words; the banner in lower case.
std::vector<std::vector<std::string>> words_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<std::string> found;
    for (std::string word; words >> word;) found.push_back(word);
    if (lines.empty() || (!found.empty() && found[0][0] != '%')) lines.push_back(found);
  }
  for (std::string& word : lines.at(0))
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lines;
}

/// Reads a text that is known to be right, with nothing but the standard library.
void require_plain_reader_agrees(const std::string& text, const csr<double>& a) {
  const auto lines = words_of(text);
  const auto& banner = lines[0];
  const bool is_pattern = banner[3] == "pattern", is_array = banner[2] == "array";
  const double mirror = banner[4] == "symmetric" ? 1 : banner[4] == "skew-symmetric" ? -1 : 0;
  std::map<std::pair<long, long>, double> entries;
  const auto add = [&](long i, long j, double v) {
    if (const auto [place, is_new] = entries.try_emplace({i, j}, v); !is_new) place->second += v;
  };
  long i = mirror == -1 ? 1 : 0, j = 0;  // an array's next place
  for (std::size_t n = 2; n < lines.size(); ++n) {
    std::string last = lines[n].back();
    if (last.find_first_of("nN") == std::string::npos)
      for (char& c : last)
        if (c == 'd' || c == 'D') c = 'e';
    const double v = is_pattern ? 1 : std::strtod(last.c_str(), nullptr);
    if (is_array) {
      while (i >= a.rows) i = mirror == 0 ? (++j, 0) : mirror == 1 ? ++j : ++j + 1;
    } else {
      i = std::atol(lines[n][0].c_str()) - 1;
      j = std::atol(lines[n][1].c_str()) - 1;
    }
    const bool is_dropped = (is_array && v == 0 && !std::signbit(v)) || (mirror == -1 && i == j);
    if (!is_dropped) add(i, j, v);
    if (!is_dropped && mirror != 0 && i != j) add(j, i, mirror * v);
    if (is_array) ++i;
  }
  require(static_cast<offset>(entries.size()) == a.nnz());
  auto wanted = entries.begin();
  for (index r = 0; r < a.rows; ++r)
    for (offset k = a.row_begin[r]; k < a.row_begin[r + 1]; ++k, ++wanted)
      require(wanted->first == std::pair<long, long>{r, a.col[k]} && is_same(wanted->second, a.val[k]));
}

/// Rows past this would only measure how fast memory is zeroed.
bool is_too_large(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    long rows = 0;
    if (std::istringstream(line) >> rows) return rows > 1000000;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  if (is_too_large(text)) return 0;
  const auto once = read(text, 1, 1 << 20), again = read(text, 3, 16);
  require(once.index() == again.index());
  if (std::holds_alternative<std::string>(once)) {
    // Of a NUL and another error, where blocks end decides which is found first.
    if (text.find('\0') == text.npos) require(std::get<std::string>(once) == std::get<std::string>(again));
    return 0;
  }
  const auto& a = std::get<csr<double>>(once);
  validate(a);
  require(is_same(a, std::get<csr<double>>(again)));
  require_plain_reader_agrees(text, a);

  static const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("nonzero-fuzz-" + std::to_string(::getpid()) + ".mtx");
  write_matrix_market(file, a);
  require(is_same(nz::read_matrix_market<double>(file), a));
  std::filesystem::remove(file);
  return 0;
}

}  // namespace fuzz
