#include "simd_option.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/cpu/targets.hpp>

namespace nz::cli {

void add_simd_option(CLI::App& command, std::string& simd) {
  command.add_option("--simd", simd, "Instruction set for the CPU's kernels; nz list shows them (the best)")
      ->check(CLI::Validator(
          [](const std::string& name) {
            const auto there_are = simd_targets();
            return std::find(there_are.begin(), there_are.end(), name) != there_are.end()
                       ? std::string()
                       : fmt::format("'{}' is no instruction set that can be used here: there are {}", name,
                                     fmt::join(there_are, ", "));
          },
          ""))
      ->option_text("NAME");
}

}  // namespace nz::cli
