#pragma once
// What an OptionTable holds; shared by its parser and its help, for nobody else.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/options.hpp"

namespace dt {

/// Why an option may not be given, to be read behind its name; "" where it may.
using OptionRule = std::function<std::string()>;

struct OptionEntry {
  std::string name;
  std::string letter;  // "" without a one-letter alias
  std::string metavar;
  std::string help;
  std::string default_text;  // as --help shows it; "" when there is none
  std::size_t group = 0;
  bool is_flag = false;                  // --name and --no-name
  bool shows_no = false;                 // --help names --no-name, too
  bool is_standard = false;              // every tool has it
  bool in_config = true;                 // may stand in a --config file
  bool is_list = false;                  // given several times, it has the items of all
  bool in_binary = false;                // K, M, G and T are powers of 1024
  std::vector<std::string> other_names;  // what other tools call it
  bool given = false;
  bool supplied = false;  // see OptionTable::supply
  std::string initial;    // the value where it is neither
  /// Answers what else to say about an unusable value; "" for nothing.
  std::function<std::string(const std::string&)> advice;
  /// Takes a value as text; answers what was expected where it is unusable.
  std::function<std::optional<std::string>(const std::string&)> assign;
  std::function<std::string()> text;  // the value now
  std::vector<OptionRule> rules;      // asked where it is given
};

struct OptionTable::State {
  struct Example {
    std::string command;
    std::string explanation;
  };
  std::string tool;
  std::string summary;
  std::vector<std::string> usages;
  std::vector<std::string> groups;
  std::vector<OptionEntry> entries;
  struct Foreign {
    std::vector<std::string> names;
    std::string advice;
  };
  std::vector<Example> examples;
  std::vector<Foreign> foreign;
  std::vector<std::string> warnings;
  std::vector<std::function<void()>> checks;
  std::vector<std::string>* positional = nullptr;
  std::string positional_metavar;
  std::string positional_help;
  ConsoleSettings settings;
  bool runs_as_ranks = false;
  bool is_checked_later = false;

  OptionEntry* find(const std::string& name);
  /// The tool's option that was added last.
  OptionEntry& last();
  /// Whether an option is given, and not to turn it off.
  bool is_on(const std::string& name);
  /// Puts an entry into the current group; `name` may carry a letter: "operations,o".
  OptionEntry& add(const std::string& name, const std::string& metavar, const std::string& help);
  /// What every tool has: --config, --json, --quiet, --verbose, --progress, --help, --version.
  void add_standard();
};

}  // namespace dt
