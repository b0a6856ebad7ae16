#pragma once

#include <nonzero/io/input_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/read_options.hpp>

// The readers by format, of a file that is open: a pipe can be opened only once.
namespace nz {

template <class V>
csr<V> read_matrix_market(input_file& file, const read_options& options, matrix_market_info* info);
class zip_file;
template <class V>
csr<V> read_npz(const zip_file& zip, const read_options& options = {}, offset* duplicates_summed = nullptr);
template <class V> csr<V> read_npz(input_file& file, const read_options& options, offset* duplicates_summed);

}  // namespace nz
