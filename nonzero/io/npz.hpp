#pragma once

#include <filesystem>

#include <nonzero/formats/csr.hpp>
#include <nonzero/io/read_options.hpp>

namespace nz {

/// Reads a matrix that scipy.sparse.save_npz wrote: csr, csc or coo; compressed or not; 32- or 64-bit
/// indices; real, integer or boolean values. Columns come out sorted and duplicates summed, as from every
/// reader. Throws `parse_error` naming the member and what is wrong with it; `unsupported` for bsr, dia and
/// complex.
template <class V>
csr<V> read_npz(const std::filesystem::path& path, const read_options& options = {},
                offset* duplicates_summed = nullptr);

struct npz_options {
  bool compress = false;  // deflate: about half the size, many times slower
};

/// Writes `a` so that scipy.sparse.load_npz reads it as a csr_matrix. The file is written atomically.
/// Validates `a` first; trusted(a) is not looked at again.
template <class V>
void write_npz(const std::filesystem::path& path, csr_view<V> a, const npz_options& options = {});
template <class V>
void write_npz(const std::filesystem::path& path, const csr<V>& a, const npz_options& options = {}) {
  write_npz(path, csr_view<V>(a), options);
}
template <class V>
void write_npz(const std::filesystem::path& path, csr_view<V, std::int32_t> a,
               const npz_options& options = {}) {
  write_npz(path, widened_csr<V>(a).view, options);
}

}  // namespace nz
