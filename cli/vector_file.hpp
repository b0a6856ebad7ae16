#pragma once

#include <span>
#include <string>
#include <vector>

#include <nonzero/formats/csr.hpp>

namespace nz::cli {

/// A sparse matrix of one row or one column as a vector; `name` is the file's, for what is wrong.
template <class V> std::vector<V> vector_of(const csr<V>& a, const std::string& name);

/// A vector from a file: Matrix Market, or an .npz that holds a sparse matrix of one column or one row; "-"
/// is Matrix Market from standard input. Throws `shape_error` for another matrix.
template <class V> std::vector<V> read_vector_file(const std::string& name);

/// Throws `usage_error` unless a vector can be written so: .mtx, .npz, or "-" for standard output. To be
/// called before any work is done; also finds out that there is no such folder.
void require_vector_name(const std::string& name);

/// As Matrix Market, or as a sparse matrix of one column, which is what an .npz can hold.
template <class V> void write_vector_file(const std::string& name, std::span<const V> x);

}  // namespace nz::cli
