#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nonzero/formats/csr.hpp>
#include <nonzero/kernel/device_csr.hpp>
#include <nonzero/kernel/prepared_matrix.hpp>

namespace nz {

struct prepare_options {
  padding_budget budget = {};
  /// Of the kind that the kernel runs on; none: the first of that kind.
  std::shared_ptr<device> on = nullptr;
  /// Keep row offsets in 64 bits on a GPU though they would fit into 32.
  bool wide_offsets = false;
  /// For the CPU's kernels: the instruction set, one of simd_targets(); empty: the best there is.
  std::string_view simd = {};
  /// A kernel that takes CSR as it is may use `a` itself: it must then stay as it is while the result lives.
  bool may_borrow = false;
};

/// The device for a kernel that runs on `kind`: the one asked for, or what `otherwise` gives where none was.
/// Throws `device_error` where the one asked for is of another kind.
std::shared_ptr<device> device_for(device_kind kind, const prepare_options& options,
                                   std::shared_ptr<device> (*otherwise)());

/// The device that a matrix is on, for a kernel that runs on `kind`. Throws `device_error` where that is of
/// another kind, or another than the one asked for.
template <class V>
const std::shared_ptr<device>& device_of(const device_csr<V>& a, device_kind kind,
                                         const prepare_options& options);

/// A row of the table of kernels (plan/kernels.hpp): what each folder of kernels offers. Name and device are
/// unique together: a GPU kernel has a row for the card and one for the emulator.
struct kernel_row {
  std::string_view name;    // <format>_<schedule>
  std::string_view format;  // a name in formats()
  device_kind runs_on;
  bool is_repeatable;  // bitwise the same result every time
  bool is_peer;        // another library's, to compare with
  std::string_view summary;
  std::unique_ptr<prepared_matrix<float>> (*prepare_float)(const csr<float>&, const prepare_options&);
  std::unique_ptr<prepared_matrix<double>> (*prepare_double)(const csr<double>&, const prepare_options&);
  /// Values in single precision, x, y and the sums in double; null where there is none.
  std::unique_ptr<prepared_matrix<double>> (*prepare_mixed)(const csr<float>&,
                                                            const prepare_options&) = nullptr;
  /// It meets x in segments that a near cache holds: a scattered x does not hold it up.
  bool is_gather_free = false;
  /// Whether plans think of it. References, peers and the lectures' formats are there to be compared with.
  bool is_candidate = false;
  /// The kernel for both triangles where this one has a symmetric matrix's lower one. A sample of rows is not
  /// symmetric, so plans judge this one by what that other takes.
  std::string_view both_triangles = {};
  /// Whether `prepare_placed_…` makes its arrays on the device, or shares them; if not, the host does.
  bool converts_on_device = false;
  /// From what is in the device's memory already; null where there is none, as on the CPU.
  std::unique_ptr<prepared_matrix<float>> (*prepare_placed_float)(
      const std::shared_ptr<const device_csr<float>>&, const prepare_options&) = nullptr;
  std::unique_ptr<prepared_matrix<double>> (*prepare_placed_double)(
      const std::shared_ptr<const device_csr<double>>&, const prepare_options&) = nullptr;

  /// Converts `a` for this kernel and places it. Throws `unsupported` where the format would break the
  /// budget, `device_error` where the device is missing or full.
  template <class V>
  std::unique_ptr<prepared_matrix<V>> prepare(const csr<V>& a, const prepare_options& options = {}) const {
    if constexpr (sizeof(V) == sizeof(float))
      return prepare_float(a, options);
    else
      return prepare_double(a, options);
  }

  /// The same for a matrix in the device's memory, where it stays: kernels of CSR share it and have the
  /// offsets that it has, others make their own arrays from it. Throws `unsupported` for a kernel of the CPU.
  template <class V>
  std::unique_ptr<prepared_matrix<V>> prepare(const std::shared_ptr<const device_csr<V>>& a,
                                              const prepare_options& options = {}) const {
    if (prepare_placed_float == nullptr) refuse_placed();
    if constexpr (sizeof(V) == sizeof(float))
      return prepare_placed_float(a, options);
    else
      return prepare_placed_double(a, options);
  }

 private:
  [[noreturn]] void refuse_placed() const;
};

/// The rows of several parts of the table, one part after the other.
std::vector<kernel_row> join(std::initializer_list<std::span<const kernel_row>> parts);

}  // namespace nz
