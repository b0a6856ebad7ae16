#include "device_option.hpp"

#include <regex>

namespace nz::cli {

void add_device_option(CLI::App& command, std::string& device, const std::string& text) {
  command.add_option("--device", device, text)
      ->check(CLI::Validator(
          [](const std::string& name) {
            static const std::regex form("cpu|emulator|cuda(:[0-9]{1,4})?");
            return std::regex_match(name, form)
                       ? std::string()
                       : "'" + name + "' is no device: there are cpu, cuda (or cuda:1, …) and emulator";
          },
          ""))
      ->option_text("cpu|cuda|emulator");
}

}  // namespace nz::cli
