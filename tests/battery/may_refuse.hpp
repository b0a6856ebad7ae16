#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <nonzero/plan/kernels.hpp>

/// Whether a format is only for matrices with some structure, as blocks or symmetry: it refuses a single
/// entry.
inline bool needs_structure(std::string_view format) {
  const nz::csr<double> single_entry{1, 2, {0, 1}, {1}, {1}};
  const nz::kernel_row& serial = nz::find_kernel(std::string(format) + "_serial", nz::device_kind::cpu);
  try {
    serial.prepare(single_entry);
    return false;
  } catch (const nz::unsupported&) {
    return true;
  }
}

/// Whether a format may refuse a matrix: it lacks the structure, or its padding would exceed the budget.
template <class V> bool may_refuse(std::string_view format, const nz::csr<V>& a, nz::padding_budget budget) {
  if (needs_structure(format)) return true;
  const auto row = std::ranges::find(nz::formats(), format, &nz::format_row::name);
  const auto padding = static_cast<double>(row->footprint_of(a).padding_bytes);
  return padding > budget.times_csr * static_cast<double>(footprint_of(a).bytes);
}
