#pragma once
// One table of options per tool. It parses, prints --help, validates, reads --config and records
// which options were given. Man pages and completions are made from it (manual.hpp,
// completions.hpp). Only options.cpp sees the parser, Boost.Program_options.

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/console.hpp"
#include "base/text/enum_names.hpp"

namespace dt {

/// Seconds. The command line accepts 90, 90s, 5m, 2h, 1d.
struct Duration {
  double seconds = 0;
};

struct OptionValue {
  std::string name;
  std::string value;      // as text; "" if unset
  bool given;             // on the command line, in --config, or by set_if_omitted()
  std::string initial{};  // value if the option is not given
};

/// The options of a tool. Options write into variables that the caller owns. A variable's value at
/// the time of `add` is the default that --help shows. Integers take the suffixes K M G T (10³ⁿ)
/// and Ki Mi Gi Ti (2¹⁰ⁿ). Booleans are --name and --no-name. Lists are comma separated.
/// std::optional means "no default". A name may carry a letter: "operations,o" is --operations and
/// -o. If an option is given twice, the last value counts, with a warning; lists keep the items of
/// all.
class OptionTable {
 public:
  OptionTable(std::string tool, std::string summary);
  ~OptionTable();
  OptionTable(OptionTable&&) noexcept;

  /// Adds a synopsis line of --help, without the tool's name: "--out DIR [options] [INPUT...]".
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
  /// Adds an option whose value is one of those in `names`. T is E, or std::optional<E> without a default.
  template <class T, class E, std::size_t N>
  OptionTable& choice(const std::string& name, T* target, const std::array<EnumName<E>, N>& names,
                      const std::string& help) {
    return choice(
        name, names_in(names), [=] { return std::string(name_in(names, *target)); },
        [=](const std::string& text) { *target = value_in(names, text).value(); }, help);
  }
  /// Adds an option whose value is one of those in `names`, or `none` for an empty target.
  template <class E, std::size_t N>
  OptionTable& choice(const std::string& name, std::optional<E>* target,
                      const std::array<EnumName<E>, N>& names, const std::string& none,
                      const std::string& help) {
    std::vector<std::string> allowed = names_in(names);
    allowed.insert(allowed.begin(), none);
    return choice(
        name, std::move(allowed), [=] { return *target ? std::string(name_in(names, **target)) : none; },
        [=](const std::string& text) { *target = value_in(names, text); }, help);
  }
  /// Adds an option whose value is one of an enum's named ones. An std::optional has no default.
  template <NamedEnum E>
  OptionTable& choice(const std::string& name, E* target, const std::string& help) {
    return choice(name, target, enum_names(E{}), help);
  }
  template <NamedEnum E>
  OptionTable& choice(const std::string& name, std::optional<E>* target, const std::string& help) {
    return choice(name, target, enum_names(E{}), help);
  }
  /// Rejects the last added option beside any of `others` that is given and not turned off. The
  /// error is "--NAME cannot be combined with --OTHER", followed by `why` if it is not obvious.
  OptionTable& conflicts_with(std::initializer_list<const char*> others, const std::string& why = "");
  /// Rejects the last added option unless `holds` returns true once all options are parsed. The
  /// error is "--NAME needs WHAT".
  OptionTable& require(std::string what, std::function<bool()> holds);
  /// Makes the last added option a size in bytes, in which K M G T, in upper or lower case, are
  /// powers of 1024.
  OptionTable& use_binary_units();
  /// Makes the last added option a number in which K M G T P are powers of 1000, as in 989T.
  OptionTable& use_decimal_units();
  /// Adds text to the last added option that the man page prints below its help line and --help does
  /// not. A blank line begins a paragraph.
  OptionTable& details(std::string text);
  /// Sets additional advice for errors about the last added option's values; "" adds nothing.
  OptionTable& add_hint(std::function<std::string(const std::string& value)> advice);
  /// Adds names that other tools use for the option `name`. An error about such a name suggests the
  /// option. Several options may share a name.
  OptionTable& add_aliases(const std::string& name, std::initializer_list<const char*> others);
  /// Adds names of other tools' options that this tool lacks, and what to do instead.
  OptionTable& add_unsupported(std::initializer_list<const char*> names, std::string advice);
  /// Adds values that are offered for the option `name` beside others that it takes, such as presets
  /// beside files.
  OptionTable& complete(const std::string& name, std::vector<std::string> values);
  /// Replaces the default that help shows for the option `name`, where it depends on the machine.
  OptionTable& describe_default(const std::string& name, std::string text);
  /// Makes --help show these of the tool's options alone. --help-all shows all.
  OptionTable& everyday(std::initializer_list<const char*> names);
  /// Adds a command, a first positional argument, with its arguments and what it does.
  OptionTable& command(std::string name, std::string arguments, std::string summary);
  /// Adds positional arguments, which --help shows under `metavar`.
  OptionTable& positional(std::vector<std::string>* target, const std::string& metavar,
                          const std::string& help);
  /// Declares that the tool may run as several ranks with the same command line.
  OptionTable& run_as_ranks();
  /// Makes messages carry the time of day in a log file.
  OptionTable& timestamp_messages();
  bool runs_as_ranks() const;
  OptionTable& example(std::string command, std::string explanation);
  /// Adds a check over several options that runs after parsing, gets this table, and throws usage
  /// errors.
  OptionTable& check(std::function<void(const OptionTable&)> check);
  /// Defers all checks and rules to check_all(), so that omitted options can be supplied first.
  OptionTable& defer_checks();

  const std::string& tool() const;

  enum class Outcome { run, help, help_all, version };
  /// Parses argv and --config. The standard options --json --quiet --verbose --progress go into the
  /// settings.
  /// Errors: usage, naming the option, the value and what is allowed; input if the --config file
  /// cannot be read.
  Outcome parse(int argc, const char* const* argv);
  /// Runs the checks that defer_checks() deferred.
  /// Errors: usage.
  void check_all();
  /// Sets an omitted option to a value from `place`, which errors name ("run.json: "). Returns
  /// false and sets nothing if the option is given, or its rules reject it beside the given
  /// options.
  /// Errors: usage if the value is invalid.
  bool set_if_omitted(const std::string& name, const std::string& value, const std::string& place);
  const ConsoleSettings& console_settings() const;
  /// Returns the text of --help in lines of at most `width` columns.
  std::string help(std::size_t width = 100) const;
  /// Returns the text of --help-all. Examples are never broken.
  std::string help_all(std::size_t width = 100) const;
  /// Returns the warnings of parse() about the command line and the file, one per line.
  const std::vector<std::string>& warnings() const;
  std::string version() const;
  bool given(const std::string& name) const;
  /// Returns the values of the tool's own options, not the standard ones, in the order of the
  /// table.
  std::vector<OptionValue> values() const;

  struct State;  // options_state.hpp
  const State& state() const { return *state_; }

 private:
  OptionTable& choice(const std::string& name, std::vector<std::string> allowed,
                      std::function<std::string()> text, std::function<void(const std::string&)> assign,
                      const std::string& help);

  std::unique_ptr<State> state_;
};

}  // namespace dt
