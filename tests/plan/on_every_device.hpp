#pragma once

#include <string>

#include <gtest/gtest.h>

#include <nonzero/core/device.hpp>

// For tests that run on every device in both precisions: TYPED_TEST_SUITE(Name, on_every_device,
// device_names).

template <class Value, nz::device_kind Kind> struct on {
  using V = Value;
  static constexpr nz::device_kind kind = Kind;
};

struct device_names {
  template <class On> static std::string GetName(int) {
    return std::string(nz::name_of(On::kind)) + (sizeof(typename On::V) == 4 ? "_float" : "_double");
  }
};

using on_every_device =
    testing::Types<on<float, nz::device_kind::cpu>, on<double, nz::device_kind::cpu>,
                   on<float, nz::device_kind::emulator>, on<double, nz::device_kind::emulator>,
                   on<float, nz::device_kind::cuda>, on<double, nz::device_kind::cuda>>;
