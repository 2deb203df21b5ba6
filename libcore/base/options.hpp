#pragma once
// One table of options per tool: it parses, prints --help, validates, reads --config and knows what was
// given. The parser is Boost.Program_options, seen only by options.cpp.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/console.hpp"

namespace dt {

/// Seconds; on the command line 90, 90s, 5m, 2h, 1d.
struct Duration {
  double seconds = 0;
};

struct OptionValue {
  std::string name;
  std::string value;      // as text; "" when unset
  bool given;             // on the command line, in --config, or supplied
  std::string initial{};  // its value where it is not given
};

/// Options write into variables that the caller owns; a variable's value at the time of `add` is the default
/// that --help shows. Integers take the suffixes K M G T (10³ⁿ) and Ki Mi Gi Ti (2¹⁰ⁿ). Booleans are --name
/// and --no-name. Lists are comma separated. std::optional means "no default". A name may carry a letter:
/// "operations,o" is --operations and -o.
/// Errors of parse(): usage, naming the option, the value and what is allowed; input, where the --config file
/// cannot be read. Of an option given twice the last value counts, with a warning; lists have the items of
/// all.
class OptionTable {
 public:
  OptionTable(std::string tool, std::string summary);
  ~OptionTable();
  OptionTable(OptionTable&&) noexcept;

  /// A synopsis line of --help, without the tool's name: "--out DIR [options] [INPUT...]".
  OptionTable& usage(std::string line);
  /// Starts a group of options with a title.
  OptionTable& group(std::string title);
  OptionTable& add(const std::string& name, std::string* target, const std::string& metavar,
                   const std::string& help);
  OptionTable& add(const std::string& name, std::int64_t* target, const std::string& metavar,
                   const std::string& help, std::int64_t minimum = 0, std::int64_t maximum = INT64_MAX);
  OptionTable& add(const std::string& name, double* target, const std::string& metavar,
                   const std::string& help, double minimum = 0, double maximum = 1e300);
  OptionTable& add(const std::string& name, bool* target, const std::string& help);
  OptionTable& add(const std::string& name, Duration* target, const std::string& metavar,
                   const std::string& help);
  OptionTable& add(const std::string& name, std::vector<std::string>* target, const std::string& metavar,
                   const std::string& help);
  OptionTable& add(const std::string& name, std::optional<bool>* target, const std::string& help);
  OptionTable& add(const std::string& name, std::optional<std::string>* target, const std::string& metavar,
                   const std::string& help);
  OptionTable& add(const std::string& name, std::optional<std::int64_t>* target, const std::string& metavar,
                   const std::string& help, std::int64_t minimum = 0, std::int64_t maximum = INT64_MAX);
  OptionTable& add(const std::string& name, std::optional<double>* target, const std::string& metavar,
                   const std::string& help, double minimum = 0, double maximum = 1e300);
  /// The value is one of `allowed`.
  OptionTable& choice(const std::string& name, std::string* target, std::vector<std::string> allowed,
                      const std::string& help);
  /// Of the option added last: an invocation that gives it while one of `others` is given (and not turned
  /// off) is an error, "--NAME has no use with --OTHER", and `why` where that is not plain.
  OptionTable& no_use_with(std::initializer_list<const char*> others, const std::string& why = "");
  /// Of the option added last: it may be given only where `holds`, asked once all is parsed; else
  /// "--NAME needs WHAT".
  OptionTable& needs(std::string what, std::function<bool()> holds);
  /// Of the option added last, a size in bytes: K M G T, also in small letters, are powers of 1024 in it.
  OptionTable& in_binary();
  /// Of the option added last, a number: K M G T P are powers of 1000 in it, as in 989T.
  OptionTable& in_units();
  /// Of the option added last: `advice` says what else to tell about an unusable value; "" for nothing.
  OptionTable& advise(std::function<std::string(const std::string& value)> advice);
  /// Other tools' names for the option `name`, which errors about unknown options answer with it. Several
  /// options may have one.
  OptionTable& also_called(const std::string& name, std::initializer_list<const char*> others);
  /// Names of options that other tools have and this one has not, and what to do instead.
  OptionTable& has_no(std::initializer_list<const char*> names, std::string advice);
  /// Positional arguments, shown in --help under `metavar`.
  OptionTable& positional(std::vector<std::string>* target, const std::string& metavar,
                          const std::string& help);
  /// The tool may be started as several ranks that are given the same command line.
  OptionTable& for_ranks();
  /// The tool's messages carry the time of day where they go to a log file.
  OptionTable& timed_messages();
  bool runs_as_ranks() const;
  OptionTable& example(std::string command, std::string explanation);
  /// Adds a check over several options, run after parsing; it throws usage errors.
  OptionTable& check(std::function<void()> check);
  /// Leaves all checks and rules to check_all(), so that left-out options can be supplied before.
  OptionTable& checked_later();

  const std::string& tool() const;

  enum class Outcome { run, help, version };
  /// Parses argv (and --config). The standard options --json --quiet --verbose --progress go into the
  /// settings.
  Outcome parse(int argc, const char* const* argv);
  /// Runs what checked_later() put off. Errors: usage.
  void check_all();
  /// Sets an option that was left out to a value from `place`, which errors name ("run.json: "). Returns
  /// false, and sets nothing, where the option is given or its rules refuse it beside those that are. Errors:
  /// usage, for an invalid value.
  bool supply(const std::string& name, const std::string& value, const std::string& place);
  const ConsoleSettings& console_settings() const;
  /// What --help prints, in lines of at most `width` columns; examples are never broken.
  std::string help(std::size_t width = 100) const;
  /// What parse() found odd about the command line or the file, a line each.
  const std::vector<std::string>& warnings() const;
  std::string version() const;
  bool given(const std::string& name) const;
  /// The tool's own options (not the standard ones) in the order of the table.
  std::vector<OptionValue> values() const;

  struct State;  // options_state.hpp

 private:
  std::unique_ptr<State> state_;
};

}  // namespace dt
