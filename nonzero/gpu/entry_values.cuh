#pragma once

#include <memory>
#include <optional>
#include <string>

#include <nonzero/gpu/convert/any_value.cuh>
#include <nonzero/gpu/device_formats.cuh>

// The values of the entries of a matrix in CSR. Those of a graph are all the same: then none is read.
namespace nz::gpu {

template <class A> struct entry_values {
  const A* each;  // null: all are the same
  A all;
};

/// Those of an array, unless all are the same.
template <class A> entry_values<A> values_of(const A* each, const std::optional<A>& one_value) {
  return one_value ? entry_values<A>{nullptr, *one_value} : entry_values<A>{each, A{0}};
}

/// The value that all entries have.
template <class Queue, class A, class Offset>
std::optional<A> find_one_value(Queue& queue, const csr_on_device<A, Offset>& a) {
  constexpr offset fewest = 1 << 14;  // fewer are sooner read than looked through
  if (a.nnz < fewest || is_any_value(queue, a.nnz, a.val.data(), is_not_first{})) return std::nullopt;
  return queue.read(a.val.data());
}

/// CSR, for kernels that read no values where they are all the same.
template <class A, class Offset> struct csr_or_pattern : csr_on_device<A, Offset> {
  std::optional<A> one_value;

  template <class Queue>
  csr_or_pattern(Queue& queue, const std::shared_ptr<const device_csr<A>>& a, const prepare_options&)
      : csr_on_device<A, Offset>(a), one_value(find_one_value(queue, *this)) {}
  entry_values<A> values() const { return values_of(this->val.data(), one_value); }
  std::string encodings() const { return one_value ? "one value for all entries" : std::string{}; }
};

}  // namespace nz::gpu
