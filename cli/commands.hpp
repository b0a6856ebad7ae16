#pragma once

#include <CLI/CLI.hpp>

// The commands of nz: each function adds one to the program, with its options, its examples and what it does.
namespace nz::cli {

void add_info(CLI::App& app);
void add_spy(CLI::App& app);
void add_convert(CLI::App& app);
void add_generate(CLI::App& app);
void add_multiply(CLI::App& app);
void add_check(CLI::App& app);
void add_bench(CLI::App& app);
void add_plan(CLI::App& app);
void add_solve(CLI::App& app);
void add_pagerank(CLI::App& app);
void add_heat(CLI::App& app);
void add_list(CLI::App& app);

}  // namespace nz::cli
