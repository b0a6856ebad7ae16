#include "options.hpp"

#include <algorithm>
#include <cctype>
#include <deque>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nonzero/core/errors.hpp>
#include <nonzero/core/threads.hpp>
#include <nonzero/cpu/targets.hpp>

namespace nz::cli {
namespace {

/// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Whole numbers within the limits of options are exact in double.
std::optional<double> value_of(const std::string& text, bool is_whole) {
  return is_whole ? std::optional<double>(parse_number<std::int64_t>(text)) : parse_number<double>(text);
}

/// What is wrong with a number; empty: nothing.
std::string fault_of_number(const std::string& text, limits within, bool is_whole) {
  const char* const what = is_whole ? "whole number" : "number";
  const std::optional<double> value = value_of(text, is_whole);
  if (value && *value >= within.low && *value <= within.high) return "";
  if (within.low == -largest_number) return fmt::format("'{}' is not a finite {}", text, what);
  return fmt::format("'{}' is not a {} from {:g} {}", text, what, within.low,
                     within.high >= 1e15 ? "on" : fmt::format("to {:.10g}", within.high));
}

std::string fault_of_choice(const std::string& text, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
  return fmt::format("'{}' is not one of {}{}", text, fmt::join(choices, ", "), suggestion(text, choices));
}

/// An unset variable of a script must not pass for an option that was not given.
std::string fault_of_name(const std::string& text) { return text.empty() ? "the value is empty" : ""; }

/// Of "-o,--out", or a name alone.
option_row row_of(const std::string& name, const std::string& help) {
  const std::size_t comma = name.find(',');
  if (comma == std::string::npos) return {name, "", help};
  return {name.substr(comma + 1), name.substr(0, comma), help};
}

auto into(std::string& value) {
  return [&value](const std::vector<std::string>& given) { value = given[0]; };
}

/// CLI11 writes positional arguments that are one list as one word.
struct usage_formatter : CLI::Formatter {
  std::string line;
  explicit usage_formatter(std::string text) : line(std::move(text)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return line + "\n"; }
};

/// nz with all its commands.
struct parser {
  CLI::App app{"Sparse matrices: inspect them, convert them, multiply them by vectors."};
  std::deque<command> all;

  parser() {
    for (const command_row& row : table_of_commands) row.set_up(all.emplace_back(app, row));
  }

  /// The message for a command line that CLI11 rejects.
  std::string message_for(const CLI::ParseError& e) const {
    const bool has_command = !app.get_subcommands().empty();
    const CLI::App& in = has_command ? *app.get_subcommands()[0] : app;
    const auto words = in.remaining();
    const std::string prefix = has_command ? in.get_name() + ": " : "";
    const std::string see = fmt::format(" (see nz {}--help)", has_command ? in.get_name() + " " : "");
    for (const std::string& word : words)
      if (word.size() > 1 && word[0] == '-') {
        const std::string name = word.substr(0, word.find('='));
        return fmt::format("{}there is no option '{}'{}{}", prefix, name, suggestion(name, options_of(in)),
                           see);
      }
    if (has_command)
      return prefix + (words.empty() ? reason_for(e) : fmt::format("unexpected argument '{}'", words[0])) +
             see;
    if (words.empty()) return "a command is missing" + see;
    const std::vector<std::string> names = names_in(table_of_commands);
    const std::string similar =
        is_like_help(words[0]) ? "; did you mean '--help'?" : suggestion(words[0], names);
    return fmt::format(
        "there is no command '{}'{}{}", words[0],
        similar.empty() ? fmt::format("; the commands are {}", fmt::join(names, ", ")) : similar, see);
  }

  static bool is_like_help(const std::string& word) { return distance(word, "help") <= 1; }

  /// CLI11 counts the values of an option.
  static std::string reason_for(const CLI::ParseError& e) {
    std::string text = e.what();
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&e) == nullptr) return text;
    const bool is_repeated = text.find("received") != std::string::npos;
    return text.substr(0, text.find(':')) + (is_repeated ? " is given more than once" : " needs a value");
  }

  static std::vector<std::string> options_of(const CLI::App& in) {
    std::vector<std::string> out;
    for (const CLI::Option* option : in.get_options())
      for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    return out;
  }
};

}  // namespace

std::string suggestion(std::string_view given, std::span<const std::string> candidates) {
  const auto in_lower_case = [](std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
  };
  const std::string word = in_lower_case(given);
  const std::string* best = nullptr;
  std::size_t least = 2 + word.size() / 4;  // that many changes make another word
  for (const std::string& candidate : candidates) {
    const std::string other = in_lower_case(candidate);
    const bool is_begin = word.size() >= 3 && other.starts_with(word);
    const std::size_t changes = is_begin ? 1 : distance(word, other);
    if (changes < least) best = &candidate, least = changes;
  }
  return best == nullptr ? "" : fmt::format("; did you mean '{}'?", *best);
}

command::command(CLI::App& app, const command_row& row) : app_(*app.add_subcommand(row.name, row.summary)) {}

CLI::Option* command::add(const std::string& name, const std::string& label, const std::string& help,
                          store keep, const check& find_fault) {
  options_.push_back(row_of(name, help));
  options_.back().takes_value = true;
  options_.back().is_file = label.ends_with("FILE");
  CLI::Option* const out = app_.add_option(
      name,
      [keep = std::move(keep)](const CLI::results_t& values) {
        keep(values);
        return true;
      },
      help);
  if (find_fault) out->check(CLI::Validator(find_fault, ""));
  return out->option_text(label);
}

void command::argument(const std::string& name, std::string& value, const std::string& help) {
  add(name, " ", help, into(value), fault_of_name)->required();
  options_.back().is_file = true;
}

void command::arguments(const std::string& name, std::vector<std::string>& values, int least,
                        const std::string& help) {
  add(
      name, " ", help, [&values](const auto& given) { values = given; }, fault_of_name)
      ->required(least > 0)
      ->expected(least, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  options_.back().is_file = true;
}

void command::flag(const std::string& name, bool& value, const std::string& help) {
  options_.push_back(row_of(name, help));
  app_.add_flag_callback(
      name, [&value] { value = true; }, help);
}

void command::text(const std::string& name, std::string& value, const std::string& label,
                   const std::string& help) {
  add(name, label, help, into(value), fault_of_name);
}

void command::choice(const std::string& name, std::string& value, const std::vector<std::string>& choices,
                     const std::string& help, const std::string& label) {
  CLI::Option* const option =
      add(name, label.empty() ? fmt::format("{}", fmt::join(choices, "|")) : label, help, into(value),
          [choices](const std::string& text) { return fault_of_choice(text, choices); });
  options_.back().choices = choices;
  if (option->get_positional()) option->required()->option_text(" ");
}

void command::list(const std::string& name, std::vector<std::string>& values,
                   const std::vector<std::string>& choices, const std::string& help) {
  add(
      name, "NAME,NAME", help, [&values](const auto& given) { values = given; }, fault_of_name)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options_.back().choices = choices;
}

void command::add_number(const std::string& name, const std::function<void(double)>& keep, bool is_whole,
                         const std::string& label, limits within, const std::string& help) {
  add(
      name, label, help, [=](const auto& given) { keep(*value_of(given[0], is_whole)); },
      [=](const std::string& text) { return fault_of_number(text, within, is_whole); });
}

void command::precision(std::string& value, bool with_both) {
  std::vector<std::string> choices{"float", "double"};
  if (with_both) choices.emplace_back("both");
  choice("--precision", value, choices, "Type of the values (double)");
}

void command::device(std::string& value, const std::string& help) {
  const std::vector<std::string> names{"cpu", "cuda", "emulator"};
  add("--device", "cpu|cuda|emulator", help, into(value), [names](const std::string& name) {
    return is_device_name(name)
               ? std::string()
               : fmt::format("'{}' is not a device: use cpu, cuda (or cuda:1, …) or emulator{}", name,
                             suggestion(name, names));
  });
  options_.back().choices = names;
}

void command::kernel(std::string& value, const std::string& help) {
  text("--kernel", value, "NAME", help);
  options_.back().choices = kernel_names();
}

void command::simd(std::string& value) {
  const auto names = simd_targets();
  choice("--simd", value, {names.begin(), names.end()},
         "Instruction set for the CPU kernels; nz list shows them (the best)", "NAME");
}

void command::threads() {
  const auto use = [](double number) { set_threads(static_cast<int>(number)); };
  add_number("--threads", use, true, "N", {1, most_threads}, "Most threads of the CPU to use (all)");
}

void command::budget(padding_budget& value) {
  number("--padding-budget", value.times_csr, "X", {0, no_limit},
         "Padding that a format may add, as a multiple of the CSR bytes (4)");
}

void command::values(std::string& value) {
  choice("--values", value, {"file", "random"},
         "Values of the matrix: its own, or random ones that do not repeat (file)");
}

void command::footer(const std::string& text) { app_.footer(text); }
void command::usage(const std::string& line) { app_.formatter(std::make_shared<usage_formatter>(line)); }
void command::set_action(std::function<void()> action) { app_.callback(std::move(action)); }

std::string parse_and_run(int argc, char** argv, const std::string& version, const std::string& footer) {
  parser nz;
  nz.app.name("nz");
  nz.app.require_subcommand(1);
  nz.app.set_version_flag("--version", version);
  nz.app.footer(footer);
  try {
    nz.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return nz.app.help();
  } catch (const CLI::CallForVersion&) {
    return version + "\n";
  } catch (const CLI::ParseError& e) {
    throw usage_error(nz.message_for(e));
  }
  return "";
}

std::vector<command_options> all_options() {
  const parser nz;
  std::vector<command_options> out;
  for (std::size_t i = 0; i < nz.all.size(); ++i) out.emplace_back(table_of_commands[i], nz.all[i].options());
  return out;
}

std::vector<std::string> kernel_names(std::optional<device_kind> runs_on) {
  std::vector<std::string> out;
  for (const kernel_row& row : kernels())
    if ((!runs_on || row.runs_on == *runs_on) && std::find(out.begin(), out.end(), row.name) == out.end())
      out.emplace_back(row.name);
  return out;
}

const kernel_row& find_named_kernel(const std::string& name, std::optional<device_kind> runs_on) {
  try {
    return runs_on ? find_kernel(name, *runs_on) : find_kernel(name);
  } catch (const unsupported& e) {
    const std::string similar = suggestion(name, kernel_names(runs_on));
    throw usage_error(
        similar.empty() ? e.what() : fmt::format("there is no kernel '{}'{} (see nz list)", name, similar));
  }
}

std::shared_ptr<device> choose_device(const std::string& name, const std::string& kernel) {
  if (!name.empty()) return find_device(name);
  if (!kernel.empty()) return find_device(name_of(find_named_kernel(kernel, std::nullopt).runs_on));
  const auto all = devices();  // the GPUs come after the CPU
  return all[1]->kind() == device_kind::cuda ? all[1] : all[0];
}

void require_kernel(const std::string& name, device_kind runs_on, bool for_plan) {
  if (name.empty() || find_named_kernel(name, runs_on).is_repeatable || !for_plan) return;
  std::vector<std::string_view> others;
  for (const kernel_row& row : kernels())
    if (row.runs_on == runs_on && row.is_repeatable && !row.is_peer) others.push_back(row.name);
  throw usage_error(fmt::format("the products of {} do not have the same bits every time; those of {} do",
                                name, fmt::join(others, ", ")));
}

}  // namespace nz::cli
