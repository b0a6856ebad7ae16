#include "device_option.hpp"

#include <nonzero/plan/kernels.hpp>

namespace nz::cli {

void add_device_option(CLI::App& command, std::string& device, const std::string& text) {
  command.add_option("--device", device, text)
      ->check(CLI::Validator(
          [](const std::string& name) {
            return is_device_name(name)
                       ? std::string()
                       : "'" + name + "' is no device: there are cpu, cuda (or cuda:1, …) and emulator";
          },
          ""))
      ->option_text("cpu|cuda|emulator");
}

}  // namespace nz::cli
