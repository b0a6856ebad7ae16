#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/read_options.hpp>

namespace nz {

/// What a file said beside the matrix.
struct read_info {
  std::optional<matrix_market_info> file;  // none: not a Matrix Market file
  offset duplicates_summed = 0;
};

/// Reads a matrix from a file or a pipe, by its content rather than its name: Matrix Market text, the same
/// compressed (.mtx.gz), a SuiteSparse .tar.gz with one .mtx in it, or a SciPy .npz.
template <class V>
csr<V> read(const std::filesystem::path& path, const read_options& options = {}, read_info* info = nullptr);

/// A dense vector from a file or a pipe, by its content: the same files, with a matrix of one column or one
/// row; NumPy's .npy, or an .npz with one array; or plain text, numbers between blanks, commas or ends of
/// lines, where # and % begin comments.
template <class V> std::vector<V> read_vector(const std::filesystem::path& path);

/// Writes a dense vector by the name's ending: .npy, .npz (SciPy's sparse matrix of one column), .txt (a
/// number on each line), or else Matrix Market. The file is written atomically.
template <class V> void write_vector_file(const std::filesystem::path& path, std::span<const V> x);

/// Writes a matrix by the name's ending: .mtx or .npz; `unsupported` for others. Validates it first;
/// trusted(a) is not looked at again.
template <class V> void write(const std::filesystem::path& path, csr_view<V> a);
template <class V> void write(const std::filesystem::path& path, const csr<V>& a) {
  write(path, csr_view<V>(a));
}
template <class V> void write(const std::filesystem::path& path, csr_view<V, std::int32_t> a) {
  write(path, widened_csr<V>(a).view);
}

}  // namespace nz
