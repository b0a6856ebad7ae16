#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/output_file.hpp>
#include <nonzero/io/zip_internal.hpp>

namespace nz {
namespace {

template <class T> constexpr const char* descr_of = nullptr;
template <> constexpr const char* descr_of<std::int32_t> = "<i4";
template <> constexpr const char* descr_of<std::int64_t> = "<i8";
template <> constexpr const char* descr_of<float> = "<f4";
template <> constexpr const char* descr_of<double> = "<f8";

/// Begins an entry of `count` elements of type T, which are to follow.
template <class T> void begin_array(zip_writer& zip, const std::string& name, std::size_t count) {
  const std::string header = npy::make_header(descr_of<T>, fmt::format("({},)", count));
  zip.begin_entry(name, header.size() + count * sizeof(T));
  zip.write(header.data(), header.size());
}

template <class T> void write_array(zip_writer& zip, const std::string& name, std::span<const T> values) {
  begin_array<T>(zip, name, values.size());
  zip.write(values.data(), values.size_bytes());
}

/// Writes 64-bit numbers as 32-bit ones.
void write_narrowed(zip_writer& zip, const std::string& name, std::span<const offset> values) {
  begin_array<std::int32_t>(zip, name, values.size());
  std::vector<std::int32_t> narrow;
  while (!values.empty()) {
    const auto chunk = values.first(std::min(values.size(), zip_writer::chunk_bytes / sizeof(std::int32_t)));
    narrow.assign(chunk.begin(), chunk.end());
    zip.write(narrow.data(), narrow.size() * sizeof(std::int32_t));
    values = values.subspan(chunk.size());
  }
}

}  // namespace

template <class V>
void write_npz(const std::filesystem::path& path, csr_view<V> a, const npz_options& options) {
  a = validated(a);
  output_file file(path);
  zip_writer zip(file, options.compress);
  write_array<index>(zip, "indices.npy", a.col);
  // SciPy gives both index arrays one type when it loads them. 32 bits, where they suffice, save that
  // conversion; otherwise it widens the columns itself.
  if (a.nnz() <= std::numeric_limits<std::int32_t>::max())
    write_narrowed(zip, "indptr.npy", a.row_begin);
  else
    write_array<offset>(zip, "indptr.npy", a.row_begin);
  const std::string format = npy::make_header("|S3", "()") + "csr";
  zip.begin_entry("format.npy", format.size());
  zip.write(format.data(), format.size());
  const std::int64_t shape[] = {a.rows, a.cols};
  write_array<std::int64_t>(zip, "shape.npy", shape);
  write_array<V>(zip, "data.npy", a.val);
  zip.close();
  file.commit();
}

#define NONZERO_INSTANTIATE(V) \
  template void write_npz(const std::filesystem::path&, csr_view<V>, const npz_options&);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
