#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <nonzero/plan/kernels.hpp>

namespace nz::cli {

/// What a matrix would take in a format, and whether it can be had.
struct format_cost {
  std::optional<footprint> size;       // none: the format is for other matrices, whatever the budget
  std::optional<std::string> refusal;  // the library's reason; none: it can be had

  bool is_too_large() const { return size && refusal; }
};

/// Adds --padding-budget to a command.
void add_budget_option(CLI::App& command, padding_budget& budget);

/// Found without converting the matrix.
template <class V> format_cost find_cost(const format_row& format, const csr<V>& a, padding_budget budget) {
  format_cost out;
  try {
    out.size = format.footprint_of(a);
    require_within_budget(format.name, *out.size, footprint_of(a), budget);
  } catch (const unsupported& e) {
    out.refusal = e.what();
  }
  return out;
}

/// The cells of a table for it: bytes, bytes per entry, padding.
std::string per_entry_text(footprint size, offset entries);
std::string padding_text(footprint size);
/// "refused: padding past 4 × csr".
std::string refusal_text(padding_budget budget);

}  // namespace nz::cli
