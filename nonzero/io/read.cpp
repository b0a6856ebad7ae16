#include <fmt/format.h>

#include <nonzero/io/matrix_market.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read.hpp>
#include <nonzero/io/read_internal.hpp>

namespace nz {

template <class V>
csr<V> read(const std::filesystem::path& path, const read_options& options, read_info* info) {
  input_file file(path);
  read_info found;
  const bool is_npz = file.is_zip();
  csr<V> a = is_npz ? read_npz<V>(file, options, &found.duplicates_summed)
                    : read_matrix_market<V>(file, options, &found.file.emplace());
  if (!is_npz) found.duplicates_summed = found.file->duplicates_summed;
  if (info) *info = found;
  return a;
}

template <class V> void write(const std::filesystem::path& path, csr_view<V> a) {
  if (path.extension() == ".npz")
    write_npz(path, a);
  else if (path.extension() == ".mtx")
    write_matrix_market(path, a);
  else
    throw unsupported(fmt::format("{}: what to write is told by the ending, .mtx or .npz", path.string()));
}

#define NONZERO_INSTANTIATE(V)                                                         \
  template csr<V> read(const std::filesystem::path&, const read_options&, read_info*); \
  template void write(const std::filesystem::path&, csr_view<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
