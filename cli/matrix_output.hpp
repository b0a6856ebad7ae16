#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <nonzero/formats/csr.hpp>

namespace nz::cli {

/// Where a command writes a matrix, as its command line says it.
struct matrix_output {
  std::string name;  // ends in .mtx or .npz; or "-": Matrix Market to standard output
  bool compress = false;

  /// Adds --compress to a command.
  void add_to(CLI::App& command);
  /// Throws `usage_error` unless it can be written; to be called before any work is done.
  void require_known_ending() const;
  template <class V> void write(const csr<V>& a) const;
};

}  // namespace nz::cli
