#pragma once

#include <string>
#include <vector>

#include <nonzero/core/device.hpp>

namespace nz::cli {

/// The matrices that `nz bench` takes where none is given, as generator specs: large ones that the device's
/// cache does not hold, and two small ones that it does. Tiny ones for the emulator.
std::vector<std::string> suite_for(const device& on);

}  // namespace nz::cli
