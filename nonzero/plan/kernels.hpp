#pragma once

#include <span>
#include <string_view>

#include <nonzero/kernel/kernel_row.hpp>

namespace nz {

/// A row of the table of formats.
struct format_row {
  std::string_view name, summary;
  /// What a matrix would take, found without converting it.
  footprint (*footprint_float)(csr_view<float>);
  footprint (*footprint_double)(csr_view<double>);

  template <class V> footprint footprint_of(csr_view<V> a) const {
    if constexpr (sizeof(V) == sizeof(float))
      return footprint_float(a);
    else
      return footprint_double(a);
  }
  template <class V> footprint footprint_of(const csr<V>& a) const { return footprint_of(csr_view<V>(a)); }
};

std::span<const format_row> formats();

/// The table of kernels. What is not in it does not exist. Those for NVIDIA GPUs are in it where the library
/// was built with CUDA, whether there is a card or not.
std::span<const kernel_row> kernels();

/// The kernel of that name on a device; `unsupported`, naming those that exist, if there is none.
const kernel_row& find_kernel(std::string_view name, device_kind runs_on);

/// The same where it runs best: on the CPU, else on the card if there is one, else in the emulator.
const kernel_row& find_kernel(std::string_view name);

/// Every device there is: the CPU, then the cards, then the emulator. A driver that fails has no cards.
std::vector<std::shared_ptr<device>> devices();

/// Whether `name` is how a device is called, whether there is one or not: "cpu", "emulator", "cuda",
/// "cuda:1".
bool is_device_name(std::string_view name);

/// The device of that name: "cpu", "emulator", "cuda", or "cuda:1" for the second card. Throws `unsupported`
/// for another name or where the library was built without CUDA, `device_error` where there is no such card.
std::shared_ptr<device> find_device(std::string_view name);

}  // namespace nz
