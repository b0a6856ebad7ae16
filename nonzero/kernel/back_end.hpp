#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <nonzero/core/device.hpp>
#include <nonzero/core/values.hpp>
#include <nonzero/kernel/gradient_kernels.hpp>
#include <nonzero/kernel/grid_steps.hpp>
#include <nonzero/kernel/kernel_row.hpp>
#include <nonzero/kernel/prediction.hpp>
#include <nonzero/kernel/vector_kernels.hpp>

namespace nz {

/// What a back end has for values of type V. `size`: how long the vectors are.
template <class V> struct back_end_functions {
  device_surveys<V> surveys = {};  // null for the CPU, which plans differently
  std::unique_ptr<vector_kernels<V>> (*make_vector_kernels)(const std::shared_ptr<device>& on,
                                                            std::size_t size) = nullptr;
  /// The vendor's BLAS, for comparison; throws `unsupported` where it is not found. Elsewhere ours.
  std::unique_ptr<vector_kernels<V>> (*make_blas)(const std::shared_ptr<device>& on,
                                                  std::size_t size) = nullptr;
  std::unique_ptr<gradient_kernels<V>> (*make_gradient_kernels)(const std::shared_ptr<device>& on,
                                                                std::size_t size) = nullptr;
  std::unique_ptr<grid_steps<V>> (*make_grid_steps)(const cell_grid& grid, V factor,
                                                    const std::shared_ptr<device>& on) = nullptr;
};

struct no_back_end_functions {};
#define NONZERO_FUNCTIONS(V) , back_end_functions<V>
struct all_back_end_functions : no_back_end_functions NONZERO_FOR_EACH_VALUE(NONZERO_FUNCTIONS) {};
#undef NONZERO_FUNCTIONS

/// Everything that one kind of device offers. plan/kernels.cpp lists those of this build: a new kind of
/// device is a folder with one of these, and a line there.
struct back_end {
  device_kind kind;
  std::span<const kernel_row> (*kernels)();
  /// How many devices can be used. Throws `device_error` where the driver fails.
  int (*device_count)();
  /// Device `number`, counted from 0. Throws `device_error` where there is none.
  std::shared_ptr<device> (*find_device)(int number);
  /// One launch that reads an array, whose bytes are a multiple of 16; of nothing for 0 bytes. Writes nothing
  /// but perhaps `sink`. Null for the CPU.
  void (*read)(device& on, const void* from, std::size_t bytes, std::uint32_t* sink, stream in) = nullptr;
  all_back_end_functions functions = {};

  template <class V> const back_end_functions<V>& functions_for() const { return functions; }
};

}  // namespace nz
