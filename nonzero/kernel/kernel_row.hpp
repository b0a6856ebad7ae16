#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nonzero/core/values.hpp>
#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/kernel/prediction.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {

struct prepare_options {
  padding_budget budget = {};
  /// A device of the kind that the kernel runs on; none: the first of that kind.
  std::shared_ptr<device> on = nullptr;
  /// Keep 64-bit row offsets on a GPU although 32 bits would be enough.
  bool wide_offsets = false;
  /// For CPU kernels: the instruction set, one of simd_targets(); empty: the best one.
  std::string_view simd = {};
  /// The caller vouches for the matrix: it is not validated.
  bool is_trusted = false;
  /// No option: kernel_row::prepare sets it. A kernel that uses CSR as it is may keep the view, uncopied.
  bool may_borrow = false;
};

/// The device for a kernel that runs on `kind`: the one asked for, or what `otherwise` gives where none was.
/// Throws `device_error` where the one asked for is of another kind.
std::shared_ptr<device> device_for(device_kind kind, const prepare_options& options,
                                   std::shared_ptr<device> (*otherwise)());

/// `where`, the device that a matrix is on, for a kernel that runs on `kind`. Throws `device_error` where it
/// is of another kind, or not the one asked for.
const std::shared_ptr<device>& device_of(const std::shared_ptr<device>& where, device_kind kind,
                                         const prepare_options& options);

/// How one kernel prepares a matrix with values in A, for x, y and sums in V. Null where it cannot.
template <class A, class V> struct prepare_functions {
  std::unique_ptr<prepared_matrix<V>> (*host)(csr_view<A>, const prepare_options&) = nullptr;
  /// From a matrix in the device's memory. Null for CPU kernels.
  std::unique_ptr<prepared_matrix<V>> (*device)(const std::shared_ptr<const device_csr<A>>&,
                                                const prepare_options&) = nullptr;
};

/// Those of a kernel for every pair of types.
struct no_prepare_functions {};
#define NONZERO_PREPARE(A, V) , prepare_functions<A, V>
struct all_prepare_functions : no_prepare_functions NONZERO_FOR_EACH_STORAGE(NONZERO_PREPARE) {};
#undef NONZERO_PREPARE

/// A row of the table of kernels (plan/kernels.hpp), written in the kernel's own file. Name and device
/// together are unique: a GPU kernel has one row for CUDA and one for the emulator.
struct kernel_row {
  std::string_view name;    // <format>_<schedule>
  std::string_view format;  // a name in formats()
  std::string_view summary;
  device_kind runs_on = device_kind::cpu;
  bool is_repeatable = true;  // the same bits every time
  bool is_peer = false;       // another library's kernel, for comparison
  /// Whether the planner may measure it. Serial kernels, peers and most kernels of the lectures are only for
  /// comparison.
  /// Where nothing is measured, it takes the kernel with the highest prediction::preference, candidate or
  /// not.
  bool is_candidate = false;
  /// It reads x in blocks that a cache holds, so that scattered columns do not slow it down.
  bool is_gather_free = false;
  /// Whether it makes its arrays on the device, or shares them; otherwise the host converts.
  bool converts_on_device = false;
  /// Of the kernels of CSR: the one that keeps the least memory beside the matrix.
  bool is_smallest = false;
  /// For a kernel that stores one triangle of a symmetric matrix: the kernel for both triangles. A sample of
  /// rows is not symmetric, so the planner predicts from that one.
  std::string_view both_triangles = {};
  /// What it expects of a matrix on a GPU; null: the planner does not consider it there.
  prediction (*predict)(const device_features&) = nullptr;
  all_prepare_functions functions = {};

  template <class A, class V> const prepare_functions<A, V>& functions_for() const { return functions; }

  /// Validates `a`, converts it for this kernel and places it on the device. V: the type of x, y and the
  /// sums, if not that of the values. Throws `shape_error` where `a` is not valid, `unsupported` where the
  /// format would exceed the budget or the kernel has no such types, `device_error` where the device is
  /// missing or full. A CSR kernel of the CPU copies an owner and borrows a view.
  template <class V = void, class A>
  auto prepare(const csr<A>& a, const prepare_options& options = {}) const {
    return prepare_view<sums_of<A, V>>(validated(csr_view<A>(a), options.is_trusted), options, false);
  }
  template <class V = void, class A, class Offset>
  auto prepare(csr_view<A, Offset> a, const prepare_options& options = {}) const {
    return prepare_view<sums_of<A, V>>(validated(a, options.is_trusted), options, true);
  }
  /// The same for a matrix in the device's memory, where it stays: kernels of CSR share it, others make their
  /// own arrays from it. Throws `unsupported` for a kernel of the CPU, `shape_error` for a null pointer.
  template <class V = void, class A>
  auto prepare(const std::shared_ptr<const device_csr<A>>& a, const prepare_options& options = {}) const {
    const auto function = functions_for<A, sums_of<A, V>>().device;
    if (function == nullptr) refuse(true);
    return function(validated(a, options.is_trusted), options);
  }

 private:
  template <class A, class V> using sums_of = std::conditional_t<std::is_void_v<V>, A, V>;
  template <class V, class A>
  std::unique_ptr<prepared_matrix<V>> prepare_view(csr_view<A> a, prepare_options options,
                                                   bool may_borrow) const {
    const auto function = functions_for<A, V>().host;
    if (function == nullptr) refuse(false);
    options.may_borrow = may_borrow;
    options.is_trusted = true;
    return function(a, options);
  }
  /// The host's code has 64-bit offsets: 32-bit ones are copied, and live as long as the result.
  template <class V, class A>
  std::unique_ptr<prepared_matrix<V>> prepare_view(csr_view<A, std::int32_t> a,
                                                   const prepare_options& options, bool may_borrow) const {
    auto wide = std::make_shared<const widened_csr<A>>(a);
    auto out = prepare_view<V>(wide->view, options, may_borrow);
    if (runs_on == device_kind::cpu && format == "csr") out->keep(std::move(wide));  // others have copied it
    return out;
  }
  [[noreturn]] void refuse(bool on_device) const;
};

/// The rows of several tables, one after the other.
std::vector<kernel_row> join(std::initializer_list<std::span<const kernel_row>> tables);

}  // namespace nz
