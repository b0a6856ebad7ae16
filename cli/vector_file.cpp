#include "vector_file.hpp"

#include <filesystem>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>

#include "failures.hpp"
#include "matrix_argument.hpp"
#include "output.hpp"

namespace nz::cli {
namespace {

bool ends_in(const std::string& name, const char* extension) {
  return std::filesystem::path(name).extension() == extension;
}

}  // namespace

template <class V> std::vector<V> vector_of(const csr<V>& a, const std::string& name) {
  if (a.rows != 1 && a.cols != 1)
    throw shape_error(
        fmt::format("{}: a vector has one column or one row, and this is {} x {}", name, a.rows, a.cols));
  std::vector<V> out(static_cast<std::size_t>(a.cols == 1 ? a.rows : a.cols), V{0});
  for (index row = 0; row < a.rows; ++row)
    for (offset k = a.row_begin[row]; k < a.row_begin[row + 1]; ++k)
      out[static_cast<std::size_t>(a.cols == 1 ? row : a.col[k])] = a.val[k];
  return out;
}

template <class V> std::vector<V> read_vector_file(const std::string& name) {
  return ends_in(name, ".npz") ? vector_of(read_npz<V>(name), name) : read_vector<V>(input_path(name));
}

void require_vector_name(const std::string& name) {
  if (name == "-") return;
  if (!ends_in(name, ".mtx") && !ends_in(name, ".npz"))
    throw usage_error(fmt::format("{}: a vector is written as .mtx or .npz; name it so", name));
  require_writable(name);
}

template <class V> void write_vector_file(const std::string& name, std::span<const V> x) {
  if (!ends_in(name, ".npz")) return write_vector<V>(output_path(name), x);
  if (x.size() > static_cast<std::size_t>(std::numeric_limits<index>::max()))
    throw unsupported(
        fmt::format("{}: {} numbers are more rows than an .npz of ours has; write .mtx", name, x.size()));
  csr<V> column{static_cast<index>(x.size()), 1, array<offset>(x.size() + 1), array<index>(x.size(), 0),
                array<V>(x.begin(), x.end())};
  std::iota(column.row_begin.begin(), column.row_begin.end(), offset{0});
  write_npz(name, column);
}

template std::vector<float> vector_of(const csr<float>&, const std::string&);
template std::vector<double> vector_of(const csr<double>&, const std::string&);
template std::vector<float> read_vector_file(const std::string&);
template std::vector<double> read_vector_file(const std::string&);
template void write_vector_file(const std::string&, std::span<const float>);
template void write_vector_file(const std::string&, std::span<const double>);

}  // namespace nz::cli
