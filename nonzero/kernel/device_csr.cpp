#include <fmt/format.h>

#include <nonzero/core/values.hpp>
#include <nonzero/kernel/device_csr.hpp>

namespace nz {
namespace {

/// The arrays of a device_csr that owns them.
template <class V> struct owned_arrays {
  vector<std::int32_t> row_begin;
  vector<offset> wide_row_begin;
  vector<index> col;
  vector<V> val;
};

template <class T> array<T> fetch(vector_view<const T> values) {
  array<T> out(values.size());
  if (values.size() == 0) return out;
  values.where()->copy(out.data(), values.data(), values.bytes(), {});
  values.where()->synchronize({});
  return out;
}

/// `Offset` offsets as `To`, in a device's memory.
template <class To, class Offset>
vector<To> place_offsets(const std::shared_ptr<device>& on, std::span<const Offset> offsets) {
  if constexpr (std::is_same_v<To, Offset>)
    return vector<To>(on, offsets);
  else
    return vector<To>(on, array<To>(offsets.begin(), offsets.end()));
}

template <class T> std::span<const T> span_of(const vector_view<const T>& values) {
  return {values.data(), values.size()};
}

/// A device whose memory the host cannot look at does so itself. Where it finds something wrong, the host
/// looks at copies and says what: of the offsets first, as they say whether there are so many columns.
template <class V, class Offset>
void validate_arrays(const device_csr<V>& a, const vector_view<const Offset>& row_begin) {
  csr_view<V, Offset> seen(a.rows, a.cols, span_of(row_begin), span_of(a.col), span_of(a.val));
  const auto is_there = [&](const auto& values) {
    return values.size() == 0 || (values.data() != nullptr && values.where() == a.on.get());
  };
  if (!is_there(row_begin) || !is_there(a.col) || !is_there(a.val))
    throw shape_error("csr: an array that is not empty has a null pointer, or is not on the device");
  const bool has_sizes =
      a.rows >= 0 && a.cols >= 0 && row_begin.size() == static_cast<std::size_t>(a.rows) + 1;
  if (a.on->is_host() || !has_sizes) return validate(seen);  // which then throws before it looks at an array
  if (a.val.size() != a.col.size())
    throw shape_error(fmt::format("csr: val is {} long instead of {}", a.val.size(), a.nnz));
  const auto begins = a.on->examine(row_begin.data(), row_begin.size());
  const bool has_begins = begins.is_ascending && begins.smallest == 0 && begins.largest == a.nnz;
  if (has_begins && a.nnz == 0) return;
  if (has_begins) {
    const auto columns = a.on->examine(a.col.data(), a.col.size());
    if (columns.smallest >= 0 && columns.largest < a.cols) return;
  }
  const array<Offset> own_row_begin = fetch(row_begin);
  seen.row_begin = own_row_begin;
  array<index> own_col;
  if (has_begins) seen.col = own_col = fetch(a.col);
  validate(seen);
}

/// A narrow matrix with so many entries would overflow in a kernel.
template <class V> void require_offsets(const device_csr<V>& a) {
  if (!a.is_wide() && needs_wide_offsets(a.nnz))
    throw unsupported("so many entries need 64-bit row offsets on a device");
}

}  // namespace

template <class V> void validate(const device_csr<V>& a) {
  if (!a.on) throw device_error("a matrix in a device's memory names its device, and this names none");
  if (a.nnz != static_cast<offset>(a.col.size()))
    throw shape_error(fmt::format("csr: col is {} long instead of {}", a.col.size(), a.nnz));
  require_offsets(a);
  a.is_wide() ? validate_arrays(a, a.wide_row_begin) : validate_arrays(a, a.row_begin);
}

template <class V>
std::shared_ptr<const device_csr<V>> validated(const std::shared_ptr<const device_csr<V>>& a,
                                               bool is_trusted) {
  if (!a) throw shape_error("csr: the pointer to a matrix in a device's memory is null");
  if (a->is_trusted) return a;
  if (!is_trusted) validate(*a);
  auto out = std::make_shared<device_csr<V>>(*a);
  out->owner = a;  // whatever it keeps alive
  out->is_trusted = true;
  return out;
}

template <class V, class Offset>
std::shared_ptr<const device_csr<V>> place_csr(csr_view<V, Offset> a, std::shared_ptr<device> on,
                                               bool wide_offsets) {
  if (!on) throw device_error("place_csr needs a device to copy the matrix to");
  a = validated(a);
  auto arrays = std::make_shared<owned_arrays<V>>();
  if (wide_offsets || needs_wide_offsets(a.nnz()))
    arrays->wide_row_begin = place_offsets<offset>(on, a.row_begin);
  else
    arrays->row_begin = place_offsets<std::int32_t>(on, a.row_begin);
  arrays->col = vector<index>(on, a.col);
  arrays->val = vector<V>(on, a.val);
  auto out = std::make_shared<device_csr<V>>(device_csr<V>{.rows = a.rows,
                                                           .cols = a.cols,
                                                           .nnz = a.nnz(),
                                                           .row_begin = arrays->row_begin,
                                                           .wide_row_begin = arrays->wide_row_begin,
                                                           .col = arrays->col,
                                                           .val = arrays->val,
                                                           .on = std::move(on)});
  out->owner = std::move(arrays);
  out->is_trusted = true;
  return out;
}

template <class V, class Offset>
std::shared_ptr<const device_csr<V>> borrow_csr(csr_view<V, Offset> a, std::shared_ptr<device> on,
                                                stream in) {
  constexpr bool is_wide = std::is_same_v<Offset, offset>;
  if (!on) throw device_error("borrow_csr needs the device whose memory the arrays are in");
  on->synchronize(in);
  device_csr<V> out{.rows = a.rows,
                    .cols = a.cols,
                    .nnz = a.nnz(),
                    .row_begin = {},
                    .wide_row_begin = {},
                    .col = {on, a.col.data(), a.col.size()},
                    .val = {on, a.val.data(), a.val.size()},
                    .on = on};
  if constexpr (is_wide)
    out.wide_row_begin = {on, a.row_begin.data(), a.row_begin.size()};
  else
    out.row_begin = {on, a.row_begin.data(), a.row_begin.size()};
  out.is_trusted = a.is_trusted;
  if (!a.is_trusted) validate(out);
  require_offsets(out);
  out.is_trusted = true;
  return std::make_shared<const device_csr<V>>(std::move(out));
}

template <class V> csr<V> to_host(const device_csr<V>& a) {
  if (!a.is_trusted) validate(a);
  csr<V> out{a.rows, a.cols, {}, fetch(a.col), fetch(a.val)};
  if (a.is_wide()) {
    out.row_begin = fetch(a.wide_row_begin);
  } else {
    const array<std::int32_t> narrow = fetch(a.row_begin);
    out.row_begin.assign(narrow.begin(), narrow.end());
  }
  return out;
}

#define NONZERO_INSTANTIATE(V)                                                                            \
  template std::shared_ptr<const device_csr<V>> place_csr(csr_view<V>, std::shared_ptr<device>, bool);    \
  template std::shared_ptr<const device_csr<V>> place_csr(csr_view<V, std::int32_t>,                      \
                                                          std::shared_ptr<device>, bool);                 \
  template std::shared_ptr<const device_csr<V>> borrow_csr(csr_view<V>, std::shared_ptr<device>, stream); \
  template std::shared_ptr<const device_csr<V>> borrow_csr(csr_view<V, std::int32_t>,                     \
                                                           std::shared_ptr<device>, stream);              \
  template csr<V> to_host(const device_csr<V>&);                                                          \
  template void validate(const device_csr<V>&);                                                           \
  template std::shared_ptr<const device_csr<V>> validated(const std::shared_ptr<const device_csr<V>>&, bool);
NONZERO_FOR_EACH_VALUE(NONZERO_INSTANTIATE)
#undef NONZERO_INSTANTIATE

}  // namespace nz
