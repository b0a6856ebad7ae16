#pragma once

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

// The options of the commands, and what may be wrong with a command line. CLI11 parses it. Only options.cpp
// includes CLI11, because that header takes seven seconds to compile.
namespace nz::cli {

/// The command line is wrong: exit status 2. Everything else that is thrown is status 1.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The command did its work, and the result is bad: exit status 1.
struct failed_run : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "; did you mean 'csr_merge'?" with the most similar candidate; empty where none is similar.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// An option or a positional argument, as shell completion needs it.
struct option_row {
  std::string name;        // "--out"; of a positional argument "MATRIX"
  std::string short_name;  // "-o", or empty
  std::string help;
  std::vector<std::string> choices = {};  // the values that are known
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

/// One command while it is set up: its options and what it does. Names are as CLI11 takes them: "-o,--out".
/// The help text of an option gives its default in parentheses.
class command {
 public:
  command(CLI::App& app, const command_row& row);

  void argument(const std::string& name, std::string& value, const std::string& help);
  /// At least so many; none leaves `values` as they are.
  void arguments(const std::string& name, std::vector<std::string>& values, int least,
                 const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  void text(const std::string& name, std::string& value, const std::string& label, const std::string& help);
  void file(const std::string& name, std::string& value, const std::string& help) {
    text(name, value, "FILE", help);
  }
  /// An option, or a positional argument that is required.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
              const std::string& help);
  /// Values separated by commas, or the option given several times.
  void list(const std::string& name, std::vector<std::string>& values,
            const std::vector<std::string>& choices, const std::string& help);
  /// A number, whole where T is an integer type. T may be std::optional of a number.
  template <class T>
  void number(const std::string& name, T& value, const std::string& label, limits within,
              const std::string& help);

  // Options that several commands have.
  void precision(std::string& value, bool with_both = false);
  void device(std::string& value, const std::string& help);
  void kernel(std::string& value,
              const std::string& help = "Use this kernel; nz list shows them (the plan's choice)");
  void simd(std::string& value);
  void budget(padding_budget& value);
  void values(std::string& value);
  void remember(std::string& path) {
    file("--remember", path, "JSON file of plans: use the choice found there, add a new one");
  }
  void json(bool& value) { flag("--json", value, "Print JSON"); }

  /// The text below the options: explanations and examples.
  void footer(const std::string& text);
  /// The line "Usage: …", where CLI11's own is not right.
  void usage(const std::string& line);
  /// What the command does, and its options, which live as long as the command.
  template <class Options> std::remove_const_t<Options>& runs(void (*run)(Options&)) {
    const auto options = std::make_shared<std::remove_const_t<Options>>();
    set_action([options, run] { run(*options); });
    return *options;
  }

  const std::vector<option_row>& options() const { return options_; }

 private:
  void set_action(std::function<void()> action);
  using check = std::function<std::string(const std::string&)>;  // what is wrong with a value; empty: nothing
  using store = std::function<void(const std::vector<std::string>&)>;
  CLI::Option* add(const std::string& name, const std::string& label, const std::string& help, store keep,
                   const check& find_fault = nullptr);

  CLI::App& app_;
  std::vector<option_row> options_;
};

/// Parses a command line by the table of commands and runs the command. Returns the text to print where the
/// help or the version was asked for. Throws `usage_error` where the command line is wrong.
std::string parse_and_run(int argc, char** argv, const std::string& version, const std::string& footer);

using command_options = std::pair<command_row, std::vector<option_row>>;
/// The options of every command, for shell completion.
std::vector<command_options> all_options();

/// The names of all kernels, each once; with a device, of its kernels.
std::vector<std::string> kernel_names(std::optional<device_kind> runs_on = {});
/// The kernel of that name on that device; without one, where it runs best. Throws `usage_error`, naming the
/// kernels that exist, where there is none.
const kernel_row& find_named_kernel(const std::string& name, std::optional<device_kind> runs_on);
/// Throws `usage_error` unless that kernel exists and, for a plan, its products have the same bits every
/// time.
void require_kernel(const std::string& name, device_kind runs_on, bool for_plan = true);

/// All commands, in the order of --help; main, help and completion use this list.
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

/// Sets up one command: its options, its examples, and what it does.
#define NZ_DECLARE(name, summary) void set_up_##name(command& c);
NZ_FOR_EACH_COMMAND(NZ_DECLARE)

#define NZ_ROW(name, summary) {#name, summary, set_up_##name},
inline constexpr command_row table_of_commands[] = {NZ_FOR_EACH_COMMAND(NZ_ROW)};

}  // namespace nz::cli
