#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace nz::cli {

/// Adds --simd, an instruction set for the CPU's kernels, to a command.
void add_simd_option(CLI::App& command, std::string& simd);

}  // namespace nz::cli
