#include "bench_peers.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>

namespace nz::cli {
namespace {

namespace fs = std::filesystem;

constexpr peer_row peers[] = {
    {"openmp_csr", "csr", "openmp_csr", ""}, {"eigen", "csr", "eigen", ""},
    {"graphblas", "csr", "graphblas", ""},   {"petsc_aij", "aij", "petsc", "aij"},
    {"petsc_sell", "sell", "petsc", "sell"}, {"librsb", "rsb", "librsb", ""},
    {"scipy", "csr", "scipy", ""},
};

/// The word as a number; none where it is not finite, or negative.
std::optional<double> number_in(std::string_view word) {
  double out = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (failure != std::errc() || end != word.data() + word.size() || !std::isfinite(out) || out < 0)
    return std::nullopt;
  return out;
}

/// Removes the first word from a line.
std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// For a table: no control characters, and not too long.
std::string shown(std::string_view text) { return printable(text.substr(0, 200), '?'); }

[[noreturn]] void reject(std::string_view answer) {
  throw error(fmt::format("its answer makes no sense: '{}'", shown(answer)));
}

constexpr std::size_t header_words = 8;
constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

template <class T> std::size_t space_for(std::size_t count) { return aligned(count * sizeof(T)); }

template <class V> std::size_t file_size(const csr<V>& a) {
  return space_for<std::int64_t>(header_words) + space_for<offset>(a.row_begin.size()) +
         space_for<index>(a.col.size()) + space_for<V>(a.val.size()) +
         space_for<V>(static_cast<std::size_t>(a.cols));
}

}  // namespace

std::span<const peer_row> known_peers() { return peers; }

fs::path find_peers_folder() {
  const char* const wish = std::getenv("NONZERO_PEERS");
  if (wish != nullptr && *wish != '\0') return wish;
  std::error_code nothing_there;
  const fs::path here = fs::read_symlink("/proc/self/exe", nothing_there).parent_path();
  for (const fs::path& folder : {here / "peers", here.parent_path() / "libexec/nonzero/peers"})
    if (fs::is_directory(folder, nothing_there)) return folder;
  return here / "peers";
}

template <class V>
peer_matrix<V>::peer_matrix(const csr<V>& a, std::span<const V> x) : memory_(file_size(a)) {
  char* to = memory_.data();
  const auto add = [&]<class T>(const T* from, std::size_t count) {
    if (count > 0) std::memcpy(to, from, count * sizeof(T));
    to += space_for<T>(count);
  };
  const std::int64_t header[header_words] = {1, sizeof(V), a.rows, a.cols, a.nnz()};
  add(header, header_words);
  add(a.row_begin.data(), a.row_begin.size());
  add(a.col.data(), a.col.size());
  add(a.val.data(), a.val.size());
  add(x.data(), x.size());
}

template <class V>
peer_entry<V>::peer_entry(const peer_row& peer, const peer_options& options, const peer_matrix<V>& matrix,
                          const reference::exact_product& exact)
    : entry<V>({{}, std::string(peer.name), std::string(peer.format), true}),
      peer_(peer),
      options_(options),
      matrix_(matrix),
      exact_(exact) {}

template <class V> void peer_entry<V>::prepare() {
  try {
    start();
    if (!this->result.is_refused()) check();
  } catch (const error& e) {
    this->result.failure = e.what();
  } catch (const std::bad_alloc&) {
    this->result.failure = "out of memory";
  }
  if (!this->result.is_right()) process_.reset();
}

template <class V> void peer_entry<V>::start() {
  const fs::path program = options_.folder / peer_.program;
  std::error_code nothing_there;
  if (!fs::exists(program, nothing_there)) {
    this->result.refusal = fmt::format("{} is not built: make peers", peer_.program);
    return;
  }
  std::vector<std::string> arguments;
  if (!peer_.argument.empty()) arguments.emplace_back(peer_.argument);
  process_.emplace(program, arguments, options_.environment);

  const std::string answer = ask("matrix " + matrix_.path());
  std::string_view rest = answer;
  const std::string_view word = next_word(rest);
  if (word == "cannot" && !rest.empty()) {
    this->result.refusal = shown(rest);
    return;
  }
  const auto seconds = number_in(next_word(rest));
  if (word != "ready" || !seconds) reject(answer);
  this->result.prepare_seconds = *seconds;
  this->result.version = shown(rest);
}

template <class V> void peer_entry<V>::check() {
  shared_memory memory(exact_.y.size() * sizeof(V));
  std::vector<V> y(exact_.y.size(),
                   std::numeric_limits<V>::quiet_NaN());  // a row that is not written is wrong
  if (!y.empty()) std::memcpy(memory.data(), y.data(), memory.size());
  const std::string answer = ask("result " + memory.path());
  if (answer != "written") reject(answer);
  if (!y.empty()) std::memcpy(y.data(), memory.data(), memory.size());
  this->result.error = reference::largest_error<V>(exact_, y);
}

template <class V> double peer_entry<V>::run(int calls, bool) {  // it always warms up by itself
  const auto start = std::chrono::steady_clock::now();
  const std::string answer = ask(fmt::format("time {}", calls));
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::string_view rest = answer;
  const std::string_view word = next_word(rest);
  const auto seconds = number_in(rest);
  if (word != "took" || !seconds || *seconds > passed) reject(answer);
  return *seconds;
}

#define NZ_INSTANTIATE(V)        \
  template class peer_matrix<V>; \
  template class peer_entry<V>;
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
