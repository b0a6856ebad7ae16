#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/read_options.hpp>

namespace nz {

/// What the banner of a Matrix Market file says, and what reading it did.
struct matrix_market_info {
  enum class layout { coordinate, array } layout = layout::coordinate;
  enum class field { real, integer, pattern } field = field::real;
  enum class symmetry { general, symmetric, skew_symmetric } symmetry = symmetry::general;
  offset entries_in_file = 0;
  offset duplicates_summed = 0;
};

/// Reads a Matrix Market text. Columns are sorted, duplicates summed in file order, explicit zeros kept, both
/// triangles of a symmetric matrix filled; pattern entries are 1. `name` stands for the file in messages.
/// Throws `parse_error` with the line, `unsupported` for complex and hermitian files.
template <class V>
csr<V> parse_matrix_market(std::string_view text, std::string_view name, const read_options& options = {},
                           matrix_market_info* info = nullptr);

/// The same from a file, memory-mapped; or through libarchive when it is compressed, an archive or not a
/// file.
template <class V>
csr<V> read_matrix_market(const std::filesystem::path& path, const read_options& options = {},
                          matrix_market_info* info = nullptr);

/// A dense vector: a Matrix Market file of one column or one row, array or coordinate.
template <class V> std::vector<V> read_vector(const std::filesystem::path& path);

/// Writes `a` as coordinate real general, with the fewest digits that read back bit-identical. The file is
/// written aside and renamed: it is whole or not there.
template <class V> void write_matrix_market(const std::filesystem::path& path, const csr<V>& a);
/// Writes a dense vector as array real general.
template <class V> void write_vector(const std::filesystem::path& path, std::span<const V> x);

}  // namespace nz
