#include <nonzero/core/epilogue.hpp>
#include <nonzero/reference/multiply.hpp>

namespace nz::reference {

template <class V> void multiply(V alpha, csr_view<V> a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  for (index i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (offset k = a.row_begin[i]; k < a.row_begin[i + 1]; ++k) sum += a.val[k] * x[a.col[k]];
    finish(sum, y[i]);
  }
}

template <class V> void multiply(V alpha, const coo<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  // Entries are in row order: the row that is being summed is finished when the next one begins.
  offset k = 0;
  for (index i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (; k < a.nnz() && a.row[k] == i; ++k) sum += a.val[k] * x[a.col[k]];
    finish(sum, y[i]);
  }
}

template <class V> void multiply(V alpha, const ell<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  for (index i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (offset k = 0; k < a.width; ++k) {
      const offset at = k * a.rows + i;
      if (a.col[at] == padding_column) break;
      sum += a.val[at] * x[a.col[at]];
    }
    finish(sum, y[i]);
  }
}

template <class V> void multiply(V alpha, const hyb<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows(), a.cols(), x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  offset rest = 0;  // in row order, so each row's are next when its regular ones are done
  for (index i = 0; i < a.rows(); ++i) {
    V sum = 0;
    for (offset k = 0; k < a.regular.width; ++k) {
      const offset at = k * a.rows() + i;
      if (a.regular.col[at] == padding_column) break;
      sum += a.regular.val[at] * x[a.regular.col[at]];
    }
    for (; rest < a.rest.nnz() && a.rest.row[rest] == i; ++rest)
      sum += a.rest.val[rest] * x[a.rest.col[rest]];
    finish(sum, y[i]);
  }
}

template <class V> void multiply(V alpha, const jds<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  for (index p = 0; p < a.rows; ++p) {
    V sum = 0;
    for (offset k = a.row_begin[p]; k < a.row_begin[p + 1]; ++k) sum += a.val[k] * x[a.col[k]];
    finish(sum, y[a.row[p]]);
  }
}

template <class V> void multiply(V alpha, const tjds<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  for (index p = 0; p < a.rows; ++p) {
    V sum = 0;
    // Diagonals never grow: the first that does not reach place p ends its row.
    for (offset k = 0; k < a.width() && a.diagonal_begin[k] + p < a.diagonal_begin[k + 1]; ++k)
      sum += a.val[a.diagonal_begin[k] + p] * x[a.col[a.diagonal_begin[k] + p]];
    finish(sum, y[a.row[p]]);
  }
}

/// For formats whose entries do not come row by row.
template <class V, class Format>
void multiply_entries(V alpha, const Format& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  array<V> sums(static_cast<std::size_t>(a.rows), 0);
  for_each_entry(a, [&](index row, index col, V val) { sums[row] += val * x[col]; });
  const scale_and_add<V> finish{alpha, beta};
  for (index i = 0; i < a.rows; ++i) finish(sums[i], y[i]);
}

template <class V> void multiply(V alpha, const packed<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  multiply_entries(alpha, a, x, beta, y);
}

template <class V> void multiply(V alpha, const binned<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  multiply_entries(alpha, a, x, beta, y);
}

template <class V>
void multiply(V alpha, const warp_packed<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  multiply_entries(alpha, a, x, beta, y);
}

template <class V> void multiply(V alpha, const hubs<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  multiply_entries(alpha, a, x, beta, y);
}

template <class V> void multiply(V alpha, const sbsr<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  multiply_entries(alpha, a, x, beta, y);
}

template <class V> void multiply(V alpha, const sell<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  offset slice = 0;
  for (index w = 0; w < a.windows(); ++w) {
    const index begin = a.window_begin[w], end = a.window_begin[w + 1];
    for (index p = begin; p < end; ++p) {
      const index r = (p - begin) % a.height;
      V sum = 0;
      for (offset at = a.slice_begin[slice] + r; at < a.slice_begin[slice + 1]; at += a.height) {
        if (a.col[at] == padding_column) break;
        sum += a.val[at] * x[a.col[at]];
      }
      finish(sum, y[a.row[p]]);
      if (r + 1 == a.height || p + 1 == end) ++slice;
    }
  }
}

template <class V> void multiply(V alpha, const bsr<V>& a, std::span<const V> x, V beta, std::span<V> y) {
  require_vectors_fit(a.rows, a.cols, x.size(), y.size());
  const scale_and_add<V> finish{alpha, beta};
  const index size = a.block_size;
  for (index i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (offset k = a.block_begin[i / size]; k < a.block_begin[i / size + 1]; ++k)
      for (index c = 0; c < size; ++c)
        sum += a.val[(k * size + c) * size + i % size] * x[a.block_col[k] * size + c];
    for (offset k = a.rest.row_begin[i]; k < a.rest.row_begin[i + 1]; ++k)
      sum += a.rest.val[k] * x[a.rest.col[k]];
    finish(sum, y[i]);
  }
}

#define NONZERO_INSTANTIATE(V)                                                           \
  template void multiply(V, csr_view<V>, std::span<const V>, V, std::span<V>);           \
  template void multiply(V, const coo<V>&, std::span<const V>, V, std::span<V>);         \
  template void multiply(V, const ell<V>&, std::span<const V>, V, std::span<V>);         \
  template void multiply(V, const hyb<V>&, std::span<const V>, V, std::span<V>);         \
  template void multiply(V, const jds<V>&, std::span<const V>, V, std::span<V>);         \
  template void multiply(V, const tjds<V>&, std::span<const V>, V, std::span<V>);        \
  template void multiply(V, const packed<V>&, std::span<const V>, V, std::span<V>);      \
  template void multiply(V, const binned<V>&, std::span<const V>, V, std::span<V>);      \
  template void multiply(V, const warp_packed<V>&, std::span<const V>, V, std::span<V>); \
  template void multiply(V, const hubs<V>&, std::span<const V>, V, std::span<V>);        \
  template void multiply(V, const sbsr<V>&, std::span<const V>, V, std::span<V>);        \
  template void multiply(V, const sell<V>&, std::span<const V>, V, std::span<V>);        \
  template void multiply(V, const bsr<V>&, std::span<const V>, V, std::span<V>);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz::reference
