#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench_run.hpp"
#include "peer_process.hpp"

// Other libraries' multiplies on the CPU. None is linked: each is a program of its own (bench/peers/), which
// is there where its library is.
namespace nz::cli {

/// A way to multiply of another library.
struct peer_row {
  std::string_view name, format;
  std::string_view program, argument;  // the argument may be empty
};

/// All that nz knows of, whether they are there or not.
std::span<const peer_row> known_peers();

struct peer_options {
  std::filesystem::path folder;  // where the programs are
  std::vector<const peer_row*> chosen;
  double patience = 120;  // seconds that one answer may take
  peer_environment environment = {};
};

/// $NONZERO_PEERS; else `peers` beside this program, or libexec/nonzero/peers where it is installed.
std::filesystem::path find_peers_folder();

/// A matrix and an x as the programs take them.
template <class V> class peer_matrix {
 public:
  peer_matrix(const csr<V>& a, std::span<const V> x);
  std::string path() const { return memory_.path(); }

 private:
  shared_memory memory_;
};

template <class V> class peer_entry final : public entry<V> {
 public:
  /// `exact` is A x.
  peer_entry(const peer_row& peer, const peer_options& options, const peer_matrix<V>& matrix,
             const reference::exact_product& exact);
  void prepare() override;
  double run(int calls, bool warm_up) override;
  void release() override { process_.reset(); }

 private:
  std::string ask(const std::string& line) { return process_->ask(line, options_.patience); }
  void start();
  void check();

  const peer_row& peer_;
  const peer_options& options_;
  const peer_matrix<V>& matrix_;
  const reference::exact_product& exact_;
  std::optional<peer_process> process_;
};

}  // namespace nz::cli
