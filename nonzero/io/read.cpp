#include <fmt/format.h>

#include <nonzero/io/mapped_file.hpp>
#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>

namespace nz {

bool is_npz(const std::filesystem::path& path) {
  // A zip starts with the letters PK, whatever it is called.
  return mapped_file(path).text().starts_with("PK");
}

template <class V> csr<V> read(const std::filesystem::path& path, const read_options& options) {
  return is_npz(path) ? read_npz<V>(path, options) : read_matrix_market<V>(path, options);
}

template <class V> void write(const std::filesystem::path& path, csr_view<V> a) {
  if (path.extension() == ".npz")
    write_npz(path, a);
  else if (path.extension() == ".mtx")
    write_matrix_market(path, a);
  else
    throw unsupported(fmt::format("{}: what to write is told by the ending, .mtx or .npz", path.string()));
}

#define NONZERO_INSTANTIATE(V)                                             \
  template csr<V> read(const std::filesystem::path&, const read_options&); \
  template void write(const std::filesystem::path&, csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
