#include "number_option.hpp"

#include <cmath>

#include <fmt/format.h>

namespace nz::cli {

CLI::Validator number_between(double low, double high) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            if (is_number && value >= low && value <= high) return std::string();
            return std::isinf(high) ? fmt::format("{} must be a number from {:g} on", text, low)
                                    : fmt::format("{} must be a number from {:g} to {:g}", text, low, high);
          },
          ""};
}

}  // namespace nz::cli
