#include <nonzero/kernel/device_csr.hpp>

namespace nz {
namespace {

template <class T> vector<T> place(const std::shared_ptr<device>& on, const array<T>& values) {
  return vector<T>(on, std::span<const T>(values));
}

template <class T> array<T> fetch(const vector<T>& values) {
  array<T> out(values.size());
  values.copy_to(out);
  return out;
}

}  // namespace

template <class V>
std::shared_ptr<const device_csr<V>> place_csr(const csr<V>& a, std::shared_ptr<device> on,
                                               bool wide_offsets) {
  auto out = std::make_shared<device_csr<V>>();
  out->rows = a.rows;
  out->cols = a.cols;
  out->nnz = a.nnz();
  if (wide_offsets || needs_wide_offsets(a.nnz()))
    out->wide_row_begin = place(on, a.row_begin);
  else
    out->row_begin = place(on, array<std::int32_t>(a.row_begin.begin(), a.row_begin.end()));
  out->col = place(on, a.col);
  out->val = place(on, a.val);
  return out;
}

template <class V> csr<V> to_host(const device_csr<V>& a) {
  csr<V> out{a.rows, a.cols, {}, fetch(a.col), fetch(a.val)};
  if (a.is_wide()) {
    out.row_begin = fetch(a.wide_row_begin);
  } else {
    const array<std::int32_t> narrow = fetch(a.row_begin);
    out.row_begin.assign(narrow.begin(), narrow.end());
  }
  return out;
}

template std::shared_ptr<const device_csr<float>> place_csr(const csr<float>&, std::shared_ptr<device>, bool);
template std::shared_ptr<const device_csr<double>> place_csr(const csr<double>&, std::shared_ptr<device>,
                                                             bool);
template csr<float> to_host(const device_csr<float>&);
template csr<double> to_host(const device_csr<double>&);

}  // namespace nz
