#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <nonzero/core/values.hpp>

#include "bench.hpp"
#include "peer_process.hpp"

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

/// $NONZERO_PEERS; else the folder `peers` beside this program, or libexec/nonzero/peers where it is
/// installed.
fs::path find_peers_folder() {
  const char* const wish = std::getenv("NONZERO_PEERS");
  if (wish != nullptr && *wish != '\0') return wish;
  std::error_code nothing_there;
  const fs::path here = fs::read_symlink("/proc/self/exe", nothing_there).parent_path();
  for (const fs::path& folder : {here / "peers", here.parent_path() / "libexec/nonzero/peers"})
    if (fs::is_directory(folder, nothing_there)) return folder;
  return here / "peers";
}

/// A matrix and x in the layout of bench/peers/protocol.hpp: a header, then the arrays, each at a multiple of
/// 64 bytes.
template <class V> std::shared_ptr<shared_memory> share_matrix(const csr<V>& a, const std::vector<V>& x) {
  const std::int64_t header[8] = {1, sizeof(V), a.rows, a.cols, a.nnz()};
  const std::span<const std::byte> arrays[] = {
      std::as_bytes(std::span(header)), std::as_bytes(std::span(a.row_begin)),
      std::as_bytes(std::span(a.col)), std::as_bytes(std::span(a.val)), std::as_bytes(std::span(x))};
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  std::size_t all = 0;
  for (const auto& array : arrays) all += aligned(array.size());
  auto out = std::make_shared<shared_memory>(all);
  char* to = out->data();
  for (const auto& array : arrays) {
    if (!array.empty()) std::memcpy(to, array.data(), array.size());
    to += aligned(array.size());
  }
  return out;
}

/// What the peers of one matrix share.
struct peers_of_matrix {
  std::shared_ptr<shared_memory> matrix;
  fs::path folder = find_peers_folder();  // where the programs are
  peer_environment environment = {};
};

template <class V> class peer_entry final : public entry<V> {
 public:
  /// `exact` is A x; `patience` is in seconds.
  peer_entry(const peer_row& peer, std::shared_ptr<const peers_of_matrix> shared, double patience,
             const reference::exact_product& exact)
      : entry<V>({{}, std::string(peer.name), std::string(peer.format), true}),
        peer_(peer),
        shared_(std::move(shared)),
        patience_(patience),
        exact_(exact) {}

  void prepare() override {
    try {
      start();
      if (!this->result.is_refused()) check();
    } catch (const error& e) {
      this->result.failure = e.what();
    } catch (const std::bad_alloc&) {
      this->result.failure = "out of memory";
    }
    if (!this->result.is_right()) release();
  }

  double run(int calls, bool) override {  // it always warms up by itself
    const auto start = std::chrono::steady_clock::now();
    const std::string answer = ask(fmt::format("time {}", calls));
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::string_view rest = answer;
    const std::string_view word = next_word(rest);
    const auto seconds = number_in(rest);
    if (word != "took" || !seconds || *seconds > passed) reject(answer);
    return *seconds;
  }

  void release() override { process_.reset(); }

 private:
  std::string ask(const std::string& line) { return process_->ask(line, patience_); }

  void start() {
    const fs::path program = shared_->folder / peer_.program;
    std::error_code nothing_there;
    if (!fs::exists(program, nothing_there)) {
      this->result.refusal = fmt::format("{} is not built: make peers", peer_.program);
      return;
    }
    std::vector<std::string> arguments;
    if (!peer_.argument.empty()) arguments.emplace_back(peer_.argument);
    process_.emplace(program, arguments, shared_->environment);

    const std::string answer = ask("matrix " + shared_->matrix->path());
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

  void check() {
    shared_memory memory(exact_.y.size() * sizeof(V));
    std::vector<V> y(exact_.y.size(),
                     std::numeric_limits<V>::quiet_NaN());  // a row that is not written is wrong
    if (!y.empty()) std::memcpy(memory.data(), y.data(), memory.size());
    const std::string answer = ask("result " + memory.path());
    if (answer != "written") reject(answer);
    if (!y.empty()) std::memcpy(y.data(), memory.data(), memory.size());
    this->result.error = reference::largest_error<V>(exact_, y);
  }

  const peer_row& peer_;
  std::shared_ptr<const peers_of_matrix> shared_;
  double patience_;
  const reference::exact_product& exact_;
  std::optional<peer_process> process_;
};

}  // namespace

std::span<const peer_row> known_peers() { return peers; }

template <class V>
void add_peers(entries<V>& to, const csr<V>& a, const trials_of_matrix<V>& against, const chosen_rows& rows) {
  if (rows.peers.empty()) return;
  const auto shared = std::make_shared<const peers_of_matrix>(share_matrix(a, against.x));
  for (const peer_row* peer : rows.peers)  // the first trial's product is A x
    to.push_back(std::make_unique<peer_entry<V>>(*peer, shared, rows.peer_seconds, against.trials[0].exact));
}

#define NZ_INSTANTIATE(V) \
  template void add_peers(entries<V>&, const csr<V>&, const trials_of_matrix<V>&, const chosen_rows&);
NONZERO_FOR_EACH_VALUE(NZ_INSTANTIATE)

}  // namespace nz::cli
