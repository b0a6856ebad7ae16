#include "format_cost.hpp"

#include <limits>

#include <fmt/format.h>

#include "number_option.hpp"
#include "terminal.hpp"

namespace nz::cli {

std::string per_entry_text(footprint size, offset entries) {
  if (entries == 0) return "–";
  const double bytes = static_cast<double>(size.bytes) / static_cast<double>(entries);
  return bytes < 1000 ? fmt::format("{:.1f} B", bytes) : format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string padding_text(footprint size) {
  const auto bytes = static_cast<double>(size.bytes), padding = static_cast<double>(size.padding_bytes);
  return fmt::format("{:.1f} %", size.bytes == 0 ? 0 : 100 * padding / bytes);
}

std::string refusal_text(padding_budget budget) {
  return yellow(fmt::format("refused: padding past {:g} × csr", budget.times_csr));
}

void add_budget_option(CLI::App& command, padding_budget& budget) {
  command
      .add_option("--padding-budget", budget.times_csr,
                  "How much padding a format may add, in times the bytes of csr (4)")
      ->check(number_between(0, std::numeric_limits<double>::infinity()))
      ->option_text("X");
}

}  // namespace nz::cli
