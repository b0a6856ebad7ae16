#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/io/assemble.hpp>
#include <nonzero/io/npy_internal.hpp>
#include <nonzero/io/npz.hpp>
#include <nonzero/io/read_internal.hpp>

// scipy.sparse.save_npz writes a zip of .npy members: format (`csr`), shape, data, and the positions:
// indices and indptr (csr, csc) or row and col (coo).
namespace nz {
namespace {

/// The arrays of a file, each converted, and where they come from.
template <class V> struct members {
  const zip_file& file;
  const std::string& path = file.path();
  std::string format = {};
  array<offset> shape = {}, indptr = {};
  array<index> indices = {}, row = {}, col = {};
  array<V> data = {};
  offset duplicates_summed = 0;

  template <class... Args> [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw parse_error(path + ": " + fmt::format(text, std::forward<Args>(args)...));
  }
  const zip_entry& entry(const char* name) const {
    const zip_entry* found = nullptr;
    for (const zip_entry& e : file.entries()) {
      if (e.name != std::string(name) + ".npy") continue;
      if (found) fail("member {}: it is there twice", e.name);
      found = &e;
    }
    if (!found) fail("member {}.npy is missing; is this a matrix that scipy.sparse.save_npz wrote?", name);
    return *found;
  }
  std::uint64_t count(const char* name) const { return npy::count_of(file, entry(name)); }
};

/// The fraction of a file's arrays that has been read.
class progress_of_members {
 public:
  progress_of_members(const zip_file& file, const std::function<void(double)>& report) : report_(report) {
    for (const zip_entry& e : file.entries()) total_ += static_cast<double>(e.size);
  }
  /// Reads a member, and reports while that takes long.
  template <class V, class T> void read(const members<V>& m, const char* name, array<T>& into) {
    const zip_entry& entry = m.entry(name);
    const auto size = static_cast<double>(entry.size);
    const auto report = [&](double fraction) { report_((done_ + fraction * size) / total_); };
    into = npy::read_array<T>(m.file, entry, npy::no_limit,
                              report_ ? std::function<void(double)>(report) : nullptr);
    done_ += size;
  }

 private:
  const std::function<void(double)>& report_;
  double done_ = 0, total_ = 0;
};

template <class V> matrix_shape checked_shape(const members<V>& m) {
  const array<offset>& shape = m.shape;
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
      m.fail("member {}.npy: element {}, counted from 1, is {}, outside a matrix that has {} there", name,
             k + 1, at[k], limit);
}

/// `indptr` divides `entries` entries into `lines` (rows of a csr, columns of a csc).
template <class V> void check_indptr(const members<V>& m, index lines, std::uint64_t entries) {
  const array<offset>& begin = m.indptr;
  if (begin[0] != 0) m.fail("member indptr.npy: it starts at {} instead of 0", begin[0]);
  for (offset i = 1; i <= lines; ++i)
    if (begin[i] < begin[i - 1])
      m.fail("member indptr.npy: it falls from {} to {} at element {}, counted from 1", begin[i - 1],
             begin[i], i + 1);
  if (begin.back() != static_cast<offset>(entries))
    m.fail("member indptr.npy: it ends at {}, but indices.npy has {} elements", begin.back(), entries);
}

/// Checks that `indices` are below `limit`; returns whether every line is sorted without duplicates.
template <class V> bool check_indices(const members<V>& m, index lines, index limit, int threads) {
  const array<offset>& begin = m.indptr;
  const array<index>& at = m.indices;
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
  const auto nnz = static_cast<offset>(m.data.size());
  assembler<V> assembly(shape.rows, shape.cols, nnz);
  assembly.add_in_lists(nnz, threads, [&](offset first, offset last, entry_list<V>& list) {
    list.resize(static_cast<std::size_t>(last - first));
    std::copy_n(m.data.begin() + first, last - first, list.val.begin());
    fill(first, last, list);
  });
  // Their memory is free before the matrix is allocated.
  array<offset>().swap(m.indptr);
  for (array<index>* of : {&m.indices, &m.row, &m.col}) array<index>().swap(*of);
  array<V>().swap(m.data);
  try {
    auto [matrix, duplicates] = assembly.finish(threads);
    m.duplicates_summed = duplicates;
    return std::move(matrix);
  } catch (const unsupported& e) {
    throw unsupported(m.path + ": " + e.what());
  }
}

/// Compares the numbers of elements that the headers declare before any is read; then reads in the order in
/// which the least memory is needed to find what is wrong.
template <class V>
csr<V> from_compressed(members<V>& m, bool is_csr, int threads, progress_of_members& progress) {
  const matrix_shape shape = checked_shape(m);
  const auto [rows, cols] = shape;
  const index lines = is_csr ? rows : cols;
  const std::uint64_t entries = m.count("indices"), begins = m.count("indptr"), values = m.count("data");
  if (begins != static_cast<std::uint64_t>(lines) + 1)
    m.fail("member indptr.npy: {} elements for a size of {}; there should be one more than that", begins,
           lines);
  if (values != entries) m.fail("member data.npy: {} elements, but indices.npy has {}", values, entries);
  require_reasonable_shape(rows, cols, static_cast<offset>(entries), m.path);
  progress.read(m, "indptr", m.indptr);
  check_indptr(m, lines, entries);
  progress.read(m, "indices", m.indices);
  const bool is_sorted = check_indices(m, lines, is_csr ? cols : rows, threads);
  progress.read(m, "data", m.data);
  if (is_csr && is_sorted) return {rows, cols, std::move(m.indptr), std::move(m.indices), std::move(m.data)};

  return assemble_entries(m, shape, threads, [&](offset first, offset last, entry_list<V>& list) {
    expand_lines(m.indptr, first, last, (is_csr ? list.row : list.col).data());
    std::copy_n(m.indices.begin() + first, last - first, (is_csr ? list.col : list.row).begin());
  });
}

template <class V> csr<V> from_coo(members<V>& m, int threads, progress_of_members& progress) {
  const matrix_shape shape = checked_shape(m);
  const std::uint64_t rows = m.count("row"), cols = m.count("col"), values = m.count("data");
  if (values != rows || rows != cols)
    m.fail("row.npy, col.npy and data.npy have {}, {} and {} elements instead of equally many", rows, cols,
           values);
  require_reasonable_shape(shape.rows, shape.cols, static_cast<offset>(values), m.path);
  const auto count = static_cast<offset>(values);
  progress.read(m, "row", m.row);
  check_positions(m, "row", m.row, shape.rows, 0, count);
  progress.read(m, "col", m.col);
  check_positions(m, "col", m.col, shape.cols, 0, count);
  progress.read(m, "data", m.data);
  return assemble_entries(m, shape, threads, [&](offset first, offset last, entry_list<V>& list) {
    std::copy_n(m.row.begin() + first, last - first, list.row.begin());
    std::copy_n(m.col.begin() + first, last - first, list.col.begin());
  });
}

/// Reads the members that are not part of the matrix, so that a file that is partly damaged is refused.
template <class V> void verify_others(const members<V>& m) {
  const auto is_read = [&](std::string_view name) {
    const bool is_coo = m.format == "coo";
    return name == "format.npy" || name == "shape.npy" || name == "data.npy" ||
           name == (is_coo ? "row.npy" : "indptr.npy") || name == (is_coo ? "col.npy" : "indices.npy");
  };
  for (const zip_entry& entry : m.file.entries())
    if (!is_read(entry.name)) zip_member(m.file, entry).skip_rest();
}

}  // namespace

template <class V>
csr<V> read_npz(const zip_file& zip, const read_options& options, offset* duplicates_summed) {
  members<V> m{zip};
  m.format = npy::read_text(zip, m.entry("format"));
  if (m.format == "bsr" || m.format == "dia")
    throw unsupported(fmt::format("{}: a {} matrix is not read; save it with .tocsr()", m.path, m.format));
  if (m.format != "csr" && m.format != "csc" && m.format != "coo")
    m.fail("member format.npy: '{}' is no format of a SciPy matrix", m.format);
  constexpr std::uint64_t most_dimensions = 64;  // NumPy's own limit
  m.shape = npy::read_array<offset>(zip, m.entry("shape"), most_dimensions);
  verify_others(m);
  progress_of_members progress(zip, options.progress);
  csr<V> a = m.format == "coo" ? from_coo(m, options.threads, progress)
                               : from_compressed(m, m.format == "csr", options.threads, progress);
  if (duplicates_summed) *duplicates_summed = m.duplicates_summed;
  return a;
}

template <class V> csr<V> read_npz(input_file& file, const read_options& options, offset* duplicates_summed) {
  return read_npz<V>(zip_file(file), options, duplicates_summed);
}

template <class V>
csr<V> read_npz(const std::filesystem::path& path, const read_options& options, offset* duplicates_summed) {
  input_file file(path);
  return read_npz<V>(file, options, duplicates_summed);
}

#define NONZERO_INSTANTIATE(V)                                             \
  template csr<V> read_npz(const zip_file&, const read_options&, offset*); \
  template csr<V> read_npz(input_file&, const read_options&, offset*);     \
  template csr<V> read_npz(const std::filesystem::path&, const read_options&, offset*);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
