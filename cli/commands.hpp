#pragma once

#include "options.hpp"

// Each function sets up one command: its options, its examples, and what it does.
namespace nz::cli {

void set_up_info(command& c);
void set_up_spy(command& c);
void set_up_convert(command& c);
void set_up_generate(command& c);
void set_up_multiply(command& c);
void set_up_check(command& c);
void set_up_bench(command& c);
void set_up_plan(command& c);
void set_up_solve(command& c);
void set_up_pagerank(command& c);
void set_up_heat(command& c);
void set_up_list(command& c);
void set_up_completion(command& c);

/// The one table of commands, in the order of --help; main, help and completion use it.
inline constexpr command_row table_of_commands[] = {
    {"info", "Shape, symmetry, row lengths, and bytes in every format", set_up_info},
    {"spy", "Draw the nonzero pattern, in the terminal or as a PNG", set_up_spy},
    {"convert", "Write a matrix as .mtx or .npz", set_up_convert},
    {"generate", "Generate a matrix: grids, bands, random graphs", set_up_generate},
    {"multiply", "Compute y = alpha A x + beta y", set_up_multiply},
    {"check", "Compare the products of every kernel with the exact product", set_up_check},
    {"bench", "Measure the speed of every kernel, and of memory", set_up_bench},
    {"plan", "Choose the kernel for a matrix, and explain the choice", set_up_plan},
    {"solve", "Solve A x = b for a symmetric positive definite matrix", set_up_solve},
    {"pagerank", "Rank the pages of a graph by their links", set_up_pagerank},
    {"heat", "Solve the heat equation on a line, a square or a cube", set_up_heat},
    {"list", "List formats, kernels, generators, devices and instruction sets", set_up_list},
    {"completion", "Print a completion script for bash, zsh or fish", set_up_completion},
};

}  // namespace nz::cli
