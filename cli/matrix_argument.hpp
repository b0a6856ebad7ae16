#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/matrix_market.hpp>

namespace nz::cli {

/// Which matrix a command works on, as its command line says it.
struct matrix_argument {
  std::string name;                  // a file, "-" for standard input, or a generator such as poisson2d:300
  std::string precision = "double";  // or "float"

  /// Adds MATRIX and --precision to a command.
  void add_to(CLI::App& command);
};

void add_precision_option(CLI::App& command, std::string& precision);

template <class V> struct loaded_matrix {
  csr<V> matrix;
  std::optional<matrix_market_info> file;  // where it came from a Matrix Market file
  offset duplicates_summed = 0;            // in reading it
};

/// The matrix that `name` stands for; a file that exists is taken before a generator of the same name. Shows
/// a progress bar where reading takes long. Throws `usage_error` for a generator's wrong parameters.
template <class V> loaded_matrix<V> load(const std::string& name);

/// Throws `parse_error` unless `name` is a file that is there, or starts as a generator does.
void require_known(const std::string& name);

/// Throws `usage_error` where standard input would be read twice: by two matrices, or for both precisions.
void require_stdin_once(const char* command, const std::vector<std::string>& matrices,
                        const std::string& precision);

/// A path to open for `name`, which may be "-" for standard input or output.
std::string input_path(const std::string& name);
std::string output_path(const std::string& name);

/// "float" or "double".
template <class V> constexpr const char* precision_name() {
  return sizeof(V) == sizeof(float) ? "float" : "double";
}

/// Calls `body` with a zero of the type that `precision` names: the one place where a name becomes a type.
template <class Body> void with_precision(const std::string& precision, Body body) {
  if (precision == "float")
    body(float{});
  else
    body(double{});
}

}  // namespace nz::cli
