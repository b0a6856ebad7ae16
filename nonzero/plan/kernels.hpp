#pragma once

#include <span>
#include <string_view>

#include <nonzero/core/values.hpp>
#include <nonzero/kernel/kernel_row.hpp>

namespace nz {

template <class V> struct footprint_function { footprint (*find)(csr_view<V>) = nullptr; };
struct no_footprint_function {};
#define NONZERO_FOOTPRINT(V) , footprint_function<V>
struct all_footprint_functions : no_footprint_function NONZERO_FOR_EACH_VALUE(NONZERO_FOOTPRINT) {};
#undef NONZERO_FOOTPRINT

/// A row of the table of formats, made from a line of formats/formats.hpp.
struct format_row {
  std::string_view name, summary;
  all_footprint_functions footprints;

  /// What a matrix would take, found without converting it.
  template <class V> footprint footprint_of(csr_view<V> a) const {
    return static_cast<const footprint_function<V>&>(footprints).find(a);
  }
  template <class V> footprint footprint_of(const csr<V>& a) const { return footprint_of(csr_view<V>(a)); }
};

std::span<const format_row> formats();

/// The table of kernels: every available kernel is listed there. Those for NVIDIA GPUs are in it where the
/// library was built with CUDA, whether there is a GPU or not.
std::span<const kernel_row> kernels();

/// The kernel of that name on a device; `unsupported`, naming those that exist, if there is none.
const kernel_row& find_kernel(std::string_view name, device_kind runs_on);

/// The same where it runs best: on the CPU, else on the GPU if there is one, else in the emulator.
const kernel_row& find_kernel(std::string_view name);

/// All devices: the CPU, then the GPUs, then the emulator. Where the driver fails there are no GPUs.
std::vector<std::shared_ptr<device>> devices();

/// Whether `name` is the name of a device, present or not: "cpu", "emulator", "cuda", "cuda:1".
bool is_device_name(std::string_view name);

/// The device of that name: "cpu", "emulator", "cuda", or "cuda:1" for the second GPU. Throws `unsupported`
/// for another name or where the library was built without CUDA, `device_error` where there is no such GPU.
std::shared_ptr<device> find_device(std::string_view name);

}  // namespace nz
