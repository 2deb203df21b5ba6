#pragma once
// The state of an OptionTable, for its parser, help, man page and completions.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"

namespace dt {

/// Returns why an option may not be given, as text that follows its name, or "" if it may.
using OptionRule = std::function<std::string()>;

struct OptionEntry {
  std::string name;
  std::string letter;  // "" without a one-letter alias
  std::string metavar;
  std::string help;
  std::string details;       // for the man page alone
  std::string default_text;  // as --help shows it; "" when there is none
  std::size_t group = 0;
  bool is_flag = false;                // --name and --no-name
  bool shows_no = false;               // --help also names --no-name
  bool is_standard = false;            // every tool has it
  bool is_everyday = false;            // --help shows it
  bool in_config = true;               // allowed in a --config file
  bool is_list = false;                // items of repeated options are joined
  bool in_binary = false;              // K, M, G and T are powers of 1024
  std::vector<std::string> aliases;    // names in other tools
  std::vector<std::string> values;     // all that it takes, or some, for hints and completions
  std::vector<std::string> conflicts;  // options beside which it is rejected
  std::vector<std::string> needs;      // conditions without which it is rejected
  bool given = false;
  bool is_set_later = false;  // see OptionTable::set_if_omitted
  std::string initial;        // value if the option is neither given nor set later
  /// Returns additional advice about an unusable value, or "".
  std::function<std::string(const std::string&)> hint;
  /// Assigns a value given as text. Returns what was expected if it is unusable.
  std::function<std::optional<std::string>(const std::string&)> assign;
  std::function<std::string()> text;  // present value
  std::vector<OptionRule> rules;      // checked if the option is given
};

struct OptionTable::State {
  struct Example {
    std::string command;
    std::string explanation;
  };
  struct Command {
    std::string name;
    std::string arguments;
    std::string summary;
  };
  std::string tool;
  std::string summary;
  std::vector<std::string> usages;
  std::vector<Command> commands;
  std::vector<std::string> groups;
  std::vector<OptionEntry> entries;
  struct UnsupportedOption {
    std::vector<std::string> names;
    std::string advice;
  };
  std::vector<Example> examples;
  std::vector<UnsupportedOption> unsupported;
  std::vector<std::string> warnings;
  std::vector<std::function<void(const OptionTable&)>> checks;
  std::vector<std::string>* positional = nullptr;
  std::string positional_metavar;
  std::string positional_help;
  ConsoleSettings settings;
  bool runs_as_ranks = false;
  bool defers_checks = false;

  OptionEntry* find(const std::string& name);
  /// Returns an option that the table must have.
  OptionEntry& at(const std::string& name);
  /// Returns the tool's own option that was added last.
  OptionEntry& last();
  /// Returns whether an option is given and not turned off.
  bool is_on(const std::string& name);
  /// Adds an entry to the current group. `name` may carry a letter: "operations,o".
  OptionEntry& add(const std::string& name, const std::string& metavar, const std::string& help);
  /// Adds the options of every tool: --config, --json, --quiet, --verbose, --progress, --help,
  /// --help-all, --version.
  void add_standard();
};

/// Returns a sentence on the suffixes of sizes, counts and durations.
std::string describe_units(const OptionTable::State& state);

}  // namespace dt
