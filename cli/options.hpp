#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nonzero/plan/kernels.hpp>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The commands and their options. Only options.cpp includes CLI11: that header takes seven seconds to
// compile.
namespace nz::cli {

/// The command line is wrong: exit status 2. All other exceptions: status 1.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command ran, and the result is bad: exit status 1.
struct failed_run : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "; did you mean 'csr_merge'?" with the most similar candidate; empty where none is similar.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// The number that is the whole text; none where it is not one, or out of range.
template <class T> std::optional<T> parse_number(std::string_view text) {
  T out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

/// The names in a table: of commands, formats, kernels, generators.
std::vector<std::string> names_in(const auto& rows) {
  std::vector<std::string> out;
  for (const auto& row : rows) out.emplace_back(row.name);
  return out;
}

/// An option or a positional argument, as shell completion needs it.
struct option_row {
  std::string name;        // "--out"; of a positional argument "MATRIX"
  std::string short_name;  // "-o", or empty
  std::string help;
  std::vector<std::string> choices = {};  // known values
  bool takes_value = false, is_file = false;
  bool is_positional() const { return !name.starts_with('-'); }
};

constexpr double no_limit = std::numeric_limits<double>::infinity();
constexpr double largest_number = std::numeric_limits<double>::max();
/// Both ends are allowed; NaN is not.
struct limits {
  double low, high;
};

class command;
/// A row of the table of commands, at the end of this file.
struct command_row {
  const char *name, *summary;
  void (*set_up)(command&);
};

/// One command while it is set up. Names of options are as in CLI11: "-o,--out". A help text gives the
/// default in parentheses.
class command {
 public:
  command(CLI::App& app, const command_row& row);

  void argument(const std::string& name, std::string& value, const std::string& help);
  /// At least `least` of them; where none is given, `values` does not change.
  void arguments(const std::string& name, std::vector<std::string>& values, int least,
                 const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& label, const std::string& help);
  void file(const std::string& name, std::string& value, const std::string& help) {
    text(name, value, "FILE", help);
  }
  /// An option, or a positional argument that is required. Without a label, the help lists the choices.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
              const std::string& help, const std::string& label = "");
  /// Values separated by commas, or the option given several times.
  void list(const std::string& name, std::vector<std::string>& values,
            const std::vector<std::string>& choices, const std::string& help);
  /// A number, whole where T is an integer type. T may be std::optional of a number.
  template <class T>
  void number(const std::string& name, T& value, const std::string& label, limits within,
              const std::string& help) {
    using type = typename decltype(std::optional(value))::value_type;  // of an optional, what it holds
    const auto keep = [&value](double given) { value = static_cast<type>(given); };
    add_number(name, keep, std::is_integral_v<type>, label, within, help);
  }

  // Options that several commands have.
  void precision(std::string& value, bool with_both = false);
  void device(std::string& value,
              const std::string& help = "Device to run on (a GPU if there is one, else the CPU)");
  void kernel(std::string& value,
              const std::string& help = "Use this kernel; nz list shows them (the plan's choice)");
  void simd(std::string& value);
  /// --threads, for every command that computes.
  void threads();
  void budget(padding_budget& value);
  void values(std::string& value);
  void remember(std::string& path) {
    file("--remember", path, "JSON file of choices: use the one found there, or add a new one");
  }
  void json(bool& value) { flag("--json", value, "Print JSON"); }

  /// The text below the options: explanations and examples.
  void footer(const std::string& text);
  /// Replaces CLI11's line "Usage: …".
  void usage(const std::string& line);
  /// Sets what the command does. Returns its options, which live as long as the command.
  template <class Options> std::remove_const_t<Options>& runs(void (*run)(Options&)) {
    const auto options = std::make_shared<std::remove_const_t<Options>>();
    set_action([options, run] { run(*options); });
    return *options;
  }

  const std::vector<option_row>& options() const { return options_; }

 private:
  void set_action(std::function<void()> action);
  void add_number(const std::string& name, const std::function<void(double)>& keep, bool is_whole,
                  const std::string& label, limits within, const std::string& help);
  using check = std::function<std::string(const std::string&)>;  // what is wrong with a value; empty: nothing
  using store = std::function<void(const std::vector<std::string>&)>;
  CLI::Option* add(const std::string& name, const std::string& label, const std::string& help, store keep,
                   const check& find_fault = nullptr);

  CLI::App& app_;
  std::vector<option_row> options_;
};

/// Parses a command line and runs its command. Returns the help or the version where that was asked for, else
/// an empty text. Throws `usage_error` where the command line is wrong.
std::string parse_and_run(int argc, char** argv, const std::string& version, const std::string& footer);

using command_options = std::pair<command_row, std::vector<option_row>>;
/// The options of every command, for shell completion.
std::vector<command_options> all_options();

/// The names of all kernels, each once; with a device, of its kernels.
std::vector<std::string> kernel_names(std::optional<device_kind> runs_on = {});
/// The kernel of that name on that device; without a device, where it runs best. Throws `usage_error` with
/// the names that exist where there is no such kernel.
const kernel_row& find_named_kernel(const std::string& name, std::optional<device_kind> runs_on);
/// The device of that name. Without a name: where the kernel of that name runs best, if one is named, else a
/// GPU if there is one, else the CPU.
std::shared_ptr<device> choose_device(const std::string& name, const std::string& kernel = "");
/// Throws `usage_error` unless that kernel exists and, for a plan, its products have the same bits every
/// time. An empty name passes.
void require_kernel(const std::string& name, device_kind runs_on, bool for_plan = true);

/// All commands, in the order of --help.
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

/// Each sets up one command: its options, its examples, and what it does.
#define NZ_DECLARE(name, summary) void set_up_##name(command& c);
NZ_FOR_EACH_COMMAND(NZ_DECLARE)

#define NZ_ROW(name, summary) {#name, summary, set_up_##name},
inline constexpr command_row table_of_commands[] = {NZ_FOR_EACH_COMMAND(NZ_ROW)};

}  // namespace nz::cli
