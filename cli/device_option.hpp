#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace nz::cli {

/// Adds --device to a command; `text` says what not giving it means.
void add_device_option(CLI::App& command, std::string& device, const std::string& text);

}  // namespace nz::cli
