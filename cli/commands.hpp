#pragma once

#include "options.hpp"

namespace nz::cli {

/// All commands, in the order of --help; main, help and completion use this list.
#define NZ_FOR_EACH_COMMAND(DO)                                               \
  DO(info, "Shape, symmetry, row lengths, and bytes in every format")         \
  DO(spy, "Draw the nonzero pattern, in the terminal or as a PNG")            \
  DO(convert, "Write a matrix as .mtx or .npz")                               \
  DO(generate, "Generate a matrix: grids, bands, random graphs")              \
  DO(multiply, "Compute y = alpha A x + beta y")                              \
  DO(check, "Compare the products of every kernel with the exact product")    \
  DO(bench, "Measure the speed of every kernel, and of memory")               \
  DO(plan, "Choose the kernel for a matrix, and explain the choice")          \
  DO(solve, "Solve A x = b for a symmetric positive definite matrix")         \
  DO(pagerank, "Rank the pages of a graph by their links")                    \
  DO(heat, "Solve the heat equation on a line, a square or a cube")           \
  DO(list, "List formats, kernels, generators, devices and instruction sets") \
  DO(completion, "Print a completion script for bash, zsh or fish")

/// Sets up one command: its options, its examples, and what it does.
#define NZ_DECLARE(name, summary) void set_up_##name(command& c);
NZ_FOR_EACH_COMMAND(NZ_DECLARE)

#define NZ_ROW(name, summary) {#name, summary, set_up_##name},
inline constexpr command_row table_of_commands[] = {NZ_FOR_EACH_COMMAND(NZ_ROW)};

}  // namespace nz::cli
