#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/matrix_market.hpp>

#include "options.hpp"

// The matrices and vectors that commands read and write. Every command with a matrix includes this header,
// and by it options.hpp.
namespace nz::cli {

/// The matrix that a command works on, and its options.
struct matrix_argument {
  std::string name;                  // a file, "-" for standard input, or a generator such as poisson2d:300
  std::string precision = "double";  // or "float"
  std::string values = "file";       // or "random"

  /// Adds MATRIX, --precision and --threads to a command.
  void add_to(command& c);
};

template <class V> struct loaded_matrix {
  csr<V> matrix;
  std::optional<matrix_market_info> file = {};  // none: not a Matrix Market file
  offset duplicates_summed = 0;
};

/// Reads or generates a matrix; a file takes precedence over a generator of the same name. Shows a progress
/// bar where reading takes long. Throws `usage_error` for wrong parameters of a generator.
template <class V> loaded_matrix<V> load(const std::string& name);
/// The matrix alone; with "random", its values are replaced (--values).
template <class V> csr<V> load_matrix(const std::string& name, const std::string& values = "file");

/// "; did you mean 'poisson2d'?" for a word that is not a generator; empty where no generator is similar.
std::string similar_generator(const std::string& word);
/// Throws `usage_error` for an empty name, `parse_error` unless `name` is a file that exists, or begins with
/// the name of a generator.
void require_known(const std::string& name);
/// The files of a folder whose names end as those of matrices do, in alphabetical order. Throws `parse_error`
/// where the folder cannot be read, or has none.
std::vector<std::string> matrices_in(const std::string& folder);
/// Throws `usage_error` where standard input would be read twice: by two matrices, or for both precisions.
void require_stdin_once(const char* command, const std::vector<std::string>& matrices,
                        const std::string& precision);

/// The path to open for `name`, which may be "-" for standard input or output.
std::string input_path(const std::string& name);
std::string output_path(const std::string& name);

/// Where a command writes a matrix.
struct matrix_output {
  std::string name;  // .mtx or .npz; "-": Matrix Market on standard output
  bool compress = false;

  /// Adds --compress to a command.
  void add_to(command& c);
  /// Throws `usage_error` or `nz::error` where it cannot be written. Call it before the work.
  void require_valid() const;
  template <class V> void write(const csr<V>& a) const;
};

/// Reads a vector of `length` numbers ("-" is standard input). Without a file, all are `otherwise`. Throws
/// `shape_error` for another length, with `role` in the message.
template <class V>
std::vector<V> read_vector_or(const std::string& name, const char* role, index length, V otherwise);
/// Throws as require_output does, for a file of a vector.
void require_vector_output(const std::string& file);
/// By the extension; "-" is Matrix Market on standard output.
template <class V> void write_vector_file(const std::string& name, std::span<const V> x);
/// What files of vectors there are, for help texts.
inline constexpr const char* vector_files = ".mtx, .npy, .npz or text";

template <class V> constexpr const char* precision_name() {
  return sizeof(V) == sizeof(float) ? "float" : "double";
}

/// Calls `body` with a zero of the type that `precision` names; for "both", of each type.
template <class Body> void with_precision(const std::string& precision, Body body) {
  if (precision != "double") body(float{});
  if (precision != "float") body(double{});
}

}  // namespace nz::cli
