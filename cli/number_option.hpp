#pragma once

#include <CLI/CLI.hpp>

namespace nz::cli {

/// Accepts a number from `low` to `high`, and not NaN, which CLI11's own ranges let pass.
CLI::Validator number_between(double low, double high);

}  // namespace nz::cli
