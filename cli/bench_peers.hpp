#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench.hpp"
#include "peer_process.hpp"

// The multiplies of other libraries on the CPU. None is linked: each is a separate program (bench/peers/),
// built where its library is installed.
namespace nz::cli {

/// A multiply of another library.
struct peer_row {
  std::string_view name, format;
  std::string_view program, argument;  // the argument may be empty
};

/// All known peers, whether they are built or not.
std::span<const peer_row> known_peers();

struct peer_options {
  std::filesystem::path folder;  // where the programs are
  std::vector<const peer_row*> chosen;
  double patience = 120;  // seconds to wait for an answer
  peer_environment environment = {};
};

/// $NONZERO_PEERS; else the folder `peers` beside this program, or libexec/nonzero/peers where it is
/// installed.
std::filesystem::path find_peers_folder();

/// A matrix and x in the layout of bench/peers/protocol.hpp.
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
