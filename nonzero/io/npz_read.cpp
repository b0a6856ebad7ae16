#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>

// scipy.sparse.save_npz writes a zip of .npy members: format (`csr`), shape, data, and the positions:
// indices and indptr (csr, csc) or row and col (coo).
namespace nz {
namespace {

/// The members found, each converted; in the file they come in any order.
template <class V> struct members {
  std::string path;
  std::optional<std::string> format;
  std::optional<array<offset>> shape, indptr;
  std::optional<array<index>> indices, row, col;
  std::optional<array<V>> data;
  offset duplicates_summed = 0;

  template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw parse_error(path + ": " + fmt::format(text, std::forward<Args>(args)...));
  }
  template <class T> T& need(std::optional<T>& member, const char* name) const {
    if (!member) fail("member {}.npy is missing; is this a matrix that scipy.sparse.save_npz wrote?", name);
    return *member;
  }
};

template <class V> members<V> read_members(const std::string& path, const read_options& options) {
  archive_reader in(path);
  members<V> found;
  found.path = path;
  while (const auto entry = in.next()) {
    const auto read = [&]<class T>(std::optional<T>& member, std::uint64_t limit = npy::no_limit) {
      if (member) throw parse_error(in.where() + ": it is there twice");
      if constexpr (std::is_same_v<T, std::string>)
        member = npy::read_text(in);
      else
        member = npy::read_array<typename T::value_type>(in, *entry, limit, options.progress);
    };
    if (entry->name.empty()) throw parse_error(path + ": not a zip file, as every .npz is");
    if (entry->name == "format.npy") read(found.format);
    if (entry->name == "shape.npy") read(found.shape, 64);  // NumPy's own limit for dimensions
    if (entry->name == "indptr.npy") read(found.indptr);
    if (entry->name == "indices.npy") read(found.indices);
    if (entry->name == "row.npy") read(found.row);
    if (entry->name == "col.npy") read(found.col);
    if (entry->name == "data.npy") read(found.data);
  }
  return found;
}

template <class V> matrix_shape checked_shape(members<V>& m) {
  const array<offset>& shape = m.need(m.shape, "shape");
  if (shape.size() != 2)
    throw unsupported(fmt::format("{}: {} dimensions; only matrices are read", m.path, shape.size()));
  for (const offset n : shape) {
    if (n < 0) m.fail("member shape.npy: a size of {} is negative", n);
    if (n > std::numeric_limits<index>::max())
      throw unsupported(fmt::format("{}: member shape.npy: a size of {} passes 2^31 - 1", m.path, n));
  }
  return {static_cast<index>(shape[0]), static_cast<index>(shape[1])};
}

template <class V>
void check_positions(const members<V>& m, const char* name, const array<index>& at, index limit, offset begin,
                     offset end) {
  for (offset k = begin; k < end; ++k)
    if (at[k] < 0 || at[k] >= limit)
      m.fail("member {}.npy: element {} is {}, outside a matrix that has {} there", name, k, at[k], limit);
}

/// `indptr` divides the entries into `lines` (rows of a csr, columns of a csc).
template <class V> void check_indptr(const members<V>& m, index lines) {
  const array<offset>& begin = *m.indptr;
  if (begin.size() != static_cast<std::size_t>(lines) + 1)
    m.fail("member indptr.npy: {} elements for a size of {}; there should be one more than that",
           begin.size(), lines);
  if (begin[0] != 0) m.fail("member indptr.npy: it starts at {} instead of 0", begin[0]);
  for (std::size_t i = 1; i < begin.size(); ++i)
    if (begin[i] < begin[i - 1])
      m.fail("member indptr.npy: it falls from {} to {} at element {}", begin[i - 1], begin[i], i);
  if (begin.back() != static_cast<offset>(m.indices->size()))
    m.fail("member indptr.npy: it ends at {}, but indices.npy has {} elements", begin.back(),
           m.indices->size());
}

/// Checks that `indices` are below `limit`; returns whether every line is sorted without duplicates.
template <class V> bool check_indices(const members<V>& m, index lines, index limit, int threads) {
  const array<offset>& begin = *m.indptr;
  const array<index>& at = *m.indices;
  std::atomic<bool> is_sorted{true};
  constexpr offset lines_per_task = offset{1} << 14;
  parallel_ranges(lines, lines_per_task, threads, [&](offset first, offset last) {
    bool is_within = true, rises = true;
    for (offset i = first; i < last; ++i)
      for (offset k = begin[i]; k < begin[i + 1]; ++k) {
        is_within &= static_cast<std::uint32_t>(at[k]) < static_cast<std::uint32_t>(limit);
        rises &= k == begin[i] || at[k - 1] < at[k];
      }
    if (!is_within) check_positions(m, "indices", at, limit, begin[first], begin[last]);
    if (!rises) is_sorted = false;
  });
  return is_sorted;
}

/// Sets the line (row or column) of each entry in [first, last).
void expand_lines(const array<offset>& begin, offset first, offset last, index* line) {
  auto i = static_cast<index>(std::upper_bound(begin.begin(), begin.end(), first) - begin.begin() - 1);
  for (offset k = first; k < last; ++k) {
    while (begin[i + 1] <= k) ++i;
    line[k - first] = i;
  }
}

/// A matrix of the entries whose rows and columns fill(first, last, list) sets; `m` is emptied.
template <class V, class Fill>
csr<V> assemble_entries(members<V>& m, matrix_shape shape, int threads, const Fill& fill) {
  const auto nnz = static_cast<offset>(m.data->size());
  assembler<V> assembly(shape.rows, shape.cols, nnz);
  assembly.add_in_lists(nnz, threads, [&](offset first, offset last, entry_list<V>& list) {
    list.resize(static_cast<std::size_t>(last - first));
    std::copy_n(m.data->begin() + first, last - first, list.val.begin());
    fill(first, last, list);
  });
  const std::string path = m.path;
  m = {};  // frees its memory before the matrix is allocated
  try {
    auto [matrix, duplicates] = assembly.finish(threads);
    m.duplicates_summed = duplicates;
    return std::move(matrix);
  } catch (const unsupported& e) {
    throw unsupported(path + ": " + e.what());
  }
}

template <class V> csr<V> from_compressed(members<V>& m, bool is_csr, int threads) {
  const matrix_shape shape = checked_shape(m);
  const auto [rows, cols] = shape;
  const index lines = is_csr ? rows : cols;
  m.need(m.indices, "indices");
  m.need(m.indptr, "indptr");
  if (m.need(m.data, "data").size() != m.indices->size())
    m.fail("member data.npy: {} elements, but indices.npy has {}", m.data->size(), m.indices->size());
  check_indptr(m, lines);
  require_reasonable_shape(rows, cols, static_cast<offset>(m.data->size()), m.path);
  const bool is_sorted = check_indices(m, lines, is_csr ? cols : rows, threads);
  if (is_csr && is_sorted)
    return {rows, cols, std::move(*m.indptr), std::move(*m.indices), std::move(*m.data)};

  return assemble_entries(m, shape, threads, [&](offset first, offset last, entry_list<V>& list) {
    expand_lines(*m.indptr, first, last, (is_csr ? list.row : list.col).data());
    std::copy_n(m.indices->begin() + first, last - first, (is_csr ? list.col : list.row).begin());
  });
}

template <class V> csr<V> from_coo(members<V>& m, int threads) {
  const matrix_shape shape = checked_shape(m);
  const array<index>& row = m.need(m.row, "row");
  const array<index>& col = m.need(m.col, "col");
  if (m.need(m.data, "data").size() != row.size() || row.size() != col.size())
    m.fail("row.npy, col.npy and data.npy have {}, {} and {} elements instead of equally many", row.size(),
           col.size(), m.data->size());
  return assemble_entries(m, shape, threads, [&](offset first, offset last, entry_list<V>& list) {
    check_positions(m, "row", row, shape.rows, first, last);
    check_positions(m, "col", col, shape.cols, first, last);
    std::copy_n(row.begin() + first, last - first, list.row.begin());
    std::copy_n(col.begin() + first, last - first, list.col.begin());
  });
}

}  // namespace

template <class V>
csr<V> read_npz(const std::filesystem::path& path, const read_options& options, offset* duplicates_summed) {
  members<V> m = read_members<V>(path.native(), options);
  const std::string format = m.need(m.format, "format");
  if (format == "bsr" || format == "dia")
    throw unsupported(fmt::format("{}: a {} matrix is not read; save it with .tocsr()", m.path, format));
  if (format != "csr" && format != "csc" && format != "coo")
    m.fail("member format.npy: '{}' is no format of a SciPy matrix", format);
  csr<V> a =
      format == "coo" ? from_coo(m, options.threads) : from_compressed(m, format == "csr", options.threads);
  if (duplicates_summed) *duplicates_summed = m.duplicates_summed;
  return a;
}

#define NONZERO_INSTANTIATE(V) \
  template csr<V> read_npz(const std::filesystem::path&, const read_options&, offset*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
