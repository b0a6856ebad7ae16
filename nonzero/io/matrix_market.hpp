#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/read_options.hpp>

namespace nz {

/// The header of a Matrix Market file, and what was read.
struct matrix_market_info {
  enum class layouts { coordinate, array } layout = layouts::coordinate;
  enum class fields { real, integer, pattern } field = fields::real;
  enum class symmetries { general, symmetric, skew_symmetric } symmetry = symmetries::general;
  offset entries_in_file = 0;
  offset duplicates_summed = 0;
};

std::string_view to_string(matrix_market_info::layouts layout);
std::string_view to_string(matrix_market_info::fields field);
std::string_view to_string(matrix_market_info::symmetries symmetry);

/// Reads a Matrix Market text. Columns come out sorted, duplicates summed in file order, both triangles of a
/// symmetric matrix filled; pattern entries are 1. Explicit zeros of a coordinate file are kept; those of an
/// array file are not. `name` is the file's name in messages. Throws `parse_error` with the line,
/// `unsupported` for complex and hermitian files.
template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options = {},
                           matrix_market_info* info = nullptr);

/// The same from a file: memory-mapped when it is plain text, otherwise (compressed, .tar.gz, a pipe) as a
/// stream. An archive must hold one .mtx, or one named like the archive's folder (SuiteSparse: web/web.mtx
/// beside web_b.mtx).
template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options = {},
                          matrix_market_info* info = nullptr);

/// Writes `a` as coordinate real general, with the fewest digits that read back bit-identical (the payload of
/// a NaN aside). The file is written atomically. Validates `a` first; trusted(a) is not looked at again.
template <class V> void write_matrix_market(const std::filesystem::path& path, csr_view<V> a);
template <class V> void write_matrix_market(const std::filesystem::path& path, const csr<V>& a) {
  write_matrix_market(path, csr_view<V>(a));
}
template <class V> void write_matrix_market(const std::filesystem::path& path, csr_view<V, std::int32_t> a) {
  write_matrix_market(path, widened_csr<V>(a).view);
}
/// Writes a dense vector as array real general.
template <class V> void write_vector(const std::filesystem::path& path, std::span<const V> x);

}  // namespace nz
