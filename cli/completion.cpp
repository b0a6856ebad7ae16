#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options.hpp"
#include "output.hpp"

// Completion scripts for shells, generated from the table of commands and their options.
namespace nz::cli {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

bool has_files(const std::vector<option_row>& options) {
  return std::any_of(options.begin(), options.end(),
                     [](const option_row& o) { return o.is_positional() && o.is_file; });
}

/// The choices of a positional argument, or the names of files.
std::string bash_words(const std::vector<option_row>& options) {
  for (const option_row& o : options)
    if (o.is_positional() && !o.choices.empty()) return fmt::format("_nz_words '{}'", joined(o.choices));
  return has_files(options) ? "_nz_files" : ":";
}

std::string bash_script(const std::vector<command_options>& all) {
  std::string out = R"(# bash completion for nz; load it by: source <(nz completion bash)
_nz_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_nz_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); }
_nz_list() {  # completes the last of several names separated by commas
  local before=; [[ $word != *,* ]] || before=${word%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${word##*,}")
}
_nz() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
)";
  std::vector<std::string> names{"--help", "--version"};
  for (const auto& [row, options] : all) names.emplace_back(row.name);
  out += fmt::format("  if ((COMP_CWORD == 1)); then _nz_words '{}'; return; fi\n", joined(names));
  out += "  case ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]} in\n";
  for (const auto& [row, options] : all)
    for (const option_row& o : options)
      if (!o.is_positional() && o.takes_value)
        out += fmt::format("  {}:{}{}) {}; return ;;\n", row.name, o.name,
                           o.short_name.empty() ? "" : fmt::format("|{}:{}", row.name, o.short_name),
                           o.is_file ? "_nz_files"
                           : o.choices.empty()
                               ? ":"
                               : fmt::format("{} '{}'", o.name == "--kernels" ? "_nz_list" : "_nz_words",
                                             joined(o.choices)));
  out += "  esac\n  case ${COMP_WORDS[1]}:$word in\n";
  for (const auto& [row, options] : all) {
    std::vector<std::string> long_names{"--help"};
    for (const option_row& o : options)
      if (!o.is_positional()) long_names.push_back(o.name);
    out += fmt::format("  {}:-*) _nz_words '{}' ;;\n  {}:*) {} ;;\n", row.name, joined(long_names), row.name,
                       bash_words(options));
  }
  return out + "  esac\n}\ncomplete -F _nz nz\n";
}

/// Inside single quotes, and in zsh's specifications also before brackets and colons.
std::string quoted(const std::string& text, bool for_zsh) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += for_zsh ? "'\\'" : "\\";
    else if (for_zsh ? c == '[' || c == ']' || c == ':' : c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_script(const std::vector<command_options>& all) {
  std::string out = R"(#compdef nz
# zsh completion for nz; load it by: source <(nz completion zsh)
_nz() {
  if ((CURRENT == 2)); then
    local -a commands=(
)";
  for (const auto& [row, options] : all)
    out += fmt::format("      '{}:{}'\n", row.name, quoted(row.summary, true));
  out += "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n";
  out += "  shift words\n  ((CURRENT--))\n  case $command in\n";
  for (const auto& [row, options] : all) {
    out += fmt::format("  {}) _arguments -s '--help[show the options]'", row.name);
    for (const option_row& o : options) {
      const std::string action = o.name == "--kernels" ? "_values -s , kernel " + joined(o.choices)
                                 : !o.choices.empty()  ? fmt::format("({})", joined(o.choices))
                                 : o.is_file           ? "_files"
                                                       : " ";
      if (o.is_positional()) {  // one specification for all of them
        if (&o == &options.front()) out += fmt::format(" \\\n      '*:{}:{}'", o.name, action);
        continue;
      }
      for (const std::string& name : {o.short_name, o.name})
        if (!name.empty())
          out += fmt::format(" \\\n      '{}[{}]{}'", name, quoted(o.help, true),
                             o.takes_value ? ":value:" + action : "");
    }
    out += " ;;\n";
  }
  return out + "  esac\n}\nif [[ $funcstack[1] == _nz ]]; then _nz \"$@\"; else compdef _nz nz; fi\n";
}

std::string fish_script(const std::vector<command_options>& all) {
  std::string out = "# fish completion for nz; load it by: nz completion fish | source\ncomplete -c nz -f\n";
  for (const auto& [row, options] : all) {
    out += fmt::format("complete -c nz -n __fish_use_subcommand -a {} -d '{}'\n", row.name,
                       quoted(row.summary, false));
    const std::string condition = fmt::format("complete -c nz -n '__fish_seen_subcommand_from {}'", row.name);
    if (has_files(options)) out += condition + " -F\n";
    for (const option_row& o : options) {
      if (o.is_positional()) {
        if (!o.choices.empty()) out += fmt::format("{} -a '{}'\n", condition, joined(o.choices));
        continue;
      }
      out += fmt::format("{}{} -l {} -d '{}'{}\n", condition,
                         o.short_name.empty() ? "" : " -s " + o.short_name.substr(1), o.name.substr(2),
                         quoted(o.help, false),
                         !o.takes_value       ? ""
                         : o.is_file          ? " -r -F"
                         : !o.choices.empty() ? fmt::format(" -x -a '{}'", joined(o.choices))
                                              : " -x");
    }
  }
  return out;
}

void run(const std::string& shell) {
  const auto all = all_options();
  print(shell == "bash" ? bash_script(all) : shell == "zsh" ? zsh_script(all) : fish_script(all));
}

}  // namespace

void set_up_completion(command& c) {
  c.choice("SHELL", c.runs(run), {"bash", "zsh", "fish"}, "bash, zsh or fish");
  c.footer(
      R"(The script completes commands, options, files, and the names of devices, kernels and instruction sets.

Examples:
  source <(nz completion bash)                                        this shell
  nz completion bash > ~/.local/share/bash-completion/completions/nz  every bash from now on
  nz completion zsh > ~/.zfunc/_nz                                    zsh, where ~/.zfunc is in fpath
  nz completion fish > ~/.config/fish/completions/nz.fish             fish)");
}

}  // namespace nz::cli
