#include "base/cli/completions.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "base/cli/options_state.hpp"
#include "base/error.hpp"

namespace dt {

namespace {

enum class Paths { none, files, folders };

/// Returns which paths an argument takes, by its name in help.
Paths paths_of(const std::string& metavar) {
  const auto has = [&](const char* word) { return metavar.find(word) != std::string::npos; };
  if (has("FILE") || has("PATH") || has("INPUT") || has("SHARD")) return Paths::files;
  if (has("DIR") || has("RUN") || has("CKPT") || has("REPLICA")) return Paths::folders;
  return Paths::none;
}

/// Returns the name that says what positional arguments are: that of the commands' arguments, if
/// there are commands.
std::string positional_name(const OptionTable::State& state) {
  std::string name = state.commands.empty() ? state.positional_metavar : "";
  for (const OptionTable::State::Command& command : state.commands) name += command.arguments + " ";
  return name;
}

/// Returns "dt_train" for "dt-train".
std::string identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> option_words(const OptionTable::State& state) {
  std::vector<std::string> words;
  for (const OptionEntry& entry : state.entries) {
    words.push_back("--" + entry.name);
    if (entry.shows_no) words.push_back("--no-" + entry.name);
  }
  return words;
}

/// Returns "--operations|-o".
std::string bash_names(const OptionEntry& entry) {
  return "--" + entry.name + (entry.letter.empty() ? "" : "|-" + entry.letter);
}

/// Returns the statements that complete $word as a value or a path.
std::string bash_action(const std::vector<std::string>& values, Paths paths, bool is_list) {
  std::string action;
  if (!values.empty() && is_list) {
    action +=
        fmt::format("_{{tool}}_add -P \"$before\" -W '{}' -- \"${{word##*,}}\"; ", fmt::join(values, " "));
  } else if (!values.empty()) {
    action += fmt::format("_{{tool}}_add -W '{}' -- \"$word\"; ", fmt::join(values, " "));
  }
  if (paths != Paths::none) {
    action += fmt::format("_{{tool}}_add {} -- \"$word\"; compopt -o filenames 2>/dev/null; ",
                          paths == Paths::files ? "-f" : "-d");
  }
  return action;
}

std::string bash_cases(const OptionTable::State& state) {
  std::string cases;
  for (const OptionEntry& entry : state.entries) {
    if (entry.is_flag) continue;
    cases += fmt::format("    {}) {}return ;;\n", bash_names(entry),
                         bash_action(entry.values, paths_of(entry.metavar), entry.is_list));
  }
  return cases;
}

std::string with(std::string text, const std::string& what, const std::string& value) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += value.size())
    text.replace(at, what.size(), value);
  return text;
}

/// Returns text within single quotes of a shell.
std::string quoted(const std::string& text) {
  return "'" + with(text, "'", "'\\''") + "'";
}

/// Returns text for a part of _arguments' specification in which `special` characters have a
/// meaning.
std::string escaped(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text)
    out += (special.find(c) == std::string_view::npos ? "" : "\\") + std::string(1, c);
  return out;
}

/// Returns the action that completes paths, or "".
std::string zsh_paths(const std::string& metavar) {
  const Paths paths = paths_of(metavar);
  return paths == Paths::files ? "_files" : paths == Paths::folders ? "_files -/" : "";
}

/// Returns ":METAVAR:ACTION" for an argument.
std::string zsh_argument(const std::string& metavar, const std::vector<std::string>& values, bool is_list) {
  const std::string files = zsh_paths(metavar);
  const std::string names = fmt::format("{}", fmt::join(values, " "));
  std::string action = files.empty() ? " " : files;
  if (!values.empty() && is_list)
    action = fmt::format("{{_values -s , value {}}}", names);
  else if (!values.empty() && files.empty())
    action = fmt::format("({})", names);
  else if (!values.empty())
    action = fmt::format("{{_alternative \"values:value:({})\" \"paths:path:{}\"}}", names, files);
  return fmt::format(":{}:{}", escaped(metavar, ":\\"), action);
}

/// Returns the specifications of an option. Short and long name exclude each other.
std::string zsh_option(const OptionEntry& entry) {
  const std::string help = fmt::format("[{}]", escaped(entry.help, "[]\\"));
  const std::string argument = entry.is_flag ? "" : zsh_argument(entry.metavar, entry.values, entry.is_list);
  const std::string repeats = entry.is_list ? "*" : "";
  const std::string sign = entry.is_flag ? "" : "=";
  std::string lines = fmt::format("  {} \\\n", quoted(repeats + "--" + entry.name + sign + help + argument));
  if (!entry.letter.empty()) {
    lines += fmt::format("  {} \\\n",
                         quoted(repeats + "-" + entry.letter + (entry.is_flag ? "" : "+") + help + argument));
  }
  if (entry.shows_no) lines += fmt::format("  {} \\\n", quoted("--no-" + entry.name + "[turn it off]"));
  return lines;
}

}  // namespace

std::string bash_completion(const OptionTable& table) {
  const OptionTable::State& state = table.state();
  std::string value_options, commands;
  for (const OptionEntry& entry : state.entries) {
    if (!entry.is_flag) value_options += (value_options.empty() ? "" : "|") + bash_names(entry);
  }
  for (const OptionTable::State::Command& command : state.commands)
    commands += (commands.empty() ? "" : " ") + command.name;
  std::string script = R"(# bash completion of {name}, made from its option table
_{tool}_add() {
  local found
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen "$@")
}

_{tool}() {
  # The line's words up to the cursor. Bash takes the "=" of --name=value for a word.
  local -a words=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
  local word=${words[COMP_CWORD]} option=${words[COMP_CWORD-1]} before="" command="" i
  if [[ $word == = ]]; then
    word=""
  elif [[ $option == = ]]; then
    option=${words[COMP_CWORD-2]}
  fi
  [[ $word != *,* ]] || before=${word%,*},
  COMPREPLY=()
  case $option in
{cases}  esac
  if [[ $word == -* ]]; then
    _{tool}_add -W '{options}' -- "$word"
    return
  fi
)";
  if (!state.commands.empty()) {
    script += R"(  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${words[i]} in
      {value_options}) [[ ${words[i+1]} == = ]] && ((i += 2)) || ((i += 1)) ;;
      -*) ;;
      *) command=${words[i]} && break ;;
    esac
  done
  if [[ -z $command ]]; then
    _{tool}_add -W '{commands}' -- "$word"
    return
  fi
)";
  }
  if (state.positional != nullptr)
    script += "  " + bash_action({}, paths_of(positional_name(state)), false) + "\n";
  script += "}\n\ncomplete -F _{tool} {name}\n";
  script = with(script, "{cases}", bash_cases(state));
  script = with(script, "{options}", fmt::format("{}", fmt::join(option_words(state), " ")));
  script = with(script, "{value_options}", value_options);
  script = with(script, "{commands}", commands);
  return with(with(script, "{tool}", identifier(state.tool)), "{name}", state.tool);
}

std::string zsh_completion(const OptionTable& table) {
  const OptionTable::State& state = table.state();
  std::string script = fmt::format(
      "#compdef {0}\n# zsh completion of {0}, made from its option table\n\n_arguments \\\n", state.tool);
  for (const OptionEntry& entry : state.entries) script += zsh_option(entry);
  if (!state.commands.empty()) {
    std::string commands;
    for (const OptionTable::State::Command& command : state.commands)
      commands += fmt::format("{}{}\\:\"{}\"", commands.empty() ? "" : " ", command.name,
                              with(command.summary, "\"", "\\\""));
    script += fmt::format("  {} \\\n", quoted("1:command:((" + commands + "))"));
  }
  if (state.positional != nullptr)
    script += fmt::format("  {}\n", quoted(fmt::format("*:{}:{}", escaped(state.positional_metavar, ":\\"),
                                                       zsh_paths(positional_name(state)))));
  else
    script += "  && return\n";
  return script;
}

}  // namespace dt
