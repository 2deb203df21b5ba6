// Construction of an OptionTable: for each type of option, the values that it takes and how it
// prints them.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/cli/options_state.hpp"
#include "base/error.hpp"
#include "base/text/suggest.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

using Problem = std::optional<std::string>;

std::string join(const std::vector<std::string>& items, const char* separator) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : separator) + item;
  return text;
}

/// Returns a count as text; large multiples of powers of two become readable, as in 64Mi.
std::string short_count(std::int64_t value) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  if (value < mebi || value % mebi != 0) return std::to_string(value);
  if (value % (mebi << 20) == 0) return fmt::format("{}Ti", value / (mebi << 20));
  if (value % (mebi << 10) == 0) return fmt::format("{}Gi", value / (mebi << 10));
  return fmt::format("{}Mi", value / mebi);
}

std::string short_duration(double seconds) {
  for (const auto& [unit_s, unit] : {std::pair{86400.0, 'd'}, {3600.0, 'h'}, {60.0, 'm'}}) {
    if (seconds >= unit_s && std::fmod(seconds, unit_s) == 0)
      return fmt::format("{}{}", seconds / unit_s, unit);
  }
  return fmt::format("{}s", seconds);
}

std::string expected_integer(std::int64_t minimum, std::int64_t maximum) {
  const std::string suffixes = " (K, M, G, T and Ki, Mi, Gi, Ti are understood)";
  if (maximum == std::numeric_limits<std::int64_t>::max()) {
    return fmt::format("a whole number of at least {}{}", short_count(minimum), suffixes);
  }
  return fmt::format("a whole number from {} to {}{}", short_count(minimum), short_count(maximum), suffixes);
}

std::string expected_number(double minimum, double maximum) {
  if (maximum >= 1e300) return fmt::format("a number of at least {}", minimum);
  return fmt::format("a number from {} to {}", minimum, maximum);
}

template <class Target>
Problem assign_integer(const std::string& text, Target* target, std::int64_t minimum, std::int64_t maximum) {
  try {
    const std::int64_t value = parse_count(text);
    if (value < minimum || value > maximum) return expected_integer(minimum, maximum);
    *target = value;
    return std::nullopt;
  } catch (const Error&) {
    return expected_integer(minimum, maximum);
  }
}

template <class Target>
Problem assign_number(const std::string& text, Target* target, double minimum, double maximum) {
  double value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && rest == text.data() + text.size();
  if (!whole || !std::isfinite(value) || value < minimum || value > maximum)
    return expected_number(minimum, maximum);
  *target = value;
  return std::nullopt;
}

Problem assign_bool(const std::string& text, bool* target) {
  const bool is_true = text == "true" || text == "yes" || text == "on";
  const bool is_false = text == "false" || text == "no" || text == "off";
  if (!is_true && !is_false) return "true, false, yes, no, on or off";
  *target = is_true;
  return std::nullopt;
}

Problem assign_duration(const std::string& text, Duration* target) {
  try {
    target->seconds = parse_duration(text);
    return std::nullopt;
  } catch (const Error& error) {
    const std::string expected = "expected ";
    return error.context().substr(expected.size());
  }
}

Problem assign_list(const std::string& text, std::vector<std::string>* target) {
  std::vector<std::string> items = split(text, ',');
  if (std::find(items.begin(), items.end(), "") != items.end())
    return "a list separated by commas, without empty items";
  *target = std::move(items);
  return std::nullopt;
}

Problem check_choice(const std::string& text, const std::vector<std::string>& allowed) {
  if (std::ranges::find(allowed, text) != allowed.end()) return std::nullopt;
  return "one of " + join(allowed, ", ");
}

template <class T>
std::string text_or_empty(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

/// Returns "64Ki" for "64K" and "64k".
std::string binary_units(const std::string& value) {
  constexpr std::string_view small = "kmgt", large = "KMGT";
  std::string text = value;
  if (text.empty() || text.back() == 'i') return text;
  if (const std::size_t unit = small.find(text.back()); unit != std::string_view::npos)
    text.back() = large[unit];
  return large.find(text.back()) == std::string_view::npos ? text : text + "i";
}

/// Returns "989e12" for "989T".
std::string without_unit(const std::string& value) {
  constexpr std::string_view units = "KMGTP";
  const std::size_t power = value.empty() ? std::string_view::npos : units.find(value.back());
  if (power == std::string_view::npos || value.find_first_of("eE") != std::string::npos) return value;
  return fmt::format("{}e{}", value.substr(0, value.size() - 1), 3 * (power + 1));
}

/// Returns "989T" for "989e12". A number that is no multiple of a unit stays as it is.
std::string with_unit(const std::string& number) {
  const double value = number.empty() ? 0 : std::stod(number);
  for (const auto& [unit, letter] : {std::pair{1e15, 'P'}, {1e12, 'T'}, {1e9, 'G'}, {1e6, 'M'}, {1e3, 'K'}}) {
    if (value >= unit && std::fmod(value, unit) == 0) return fmt::format("{}{}", value / unit, letter);
  }
  return number;
}

/// Returns the choices as metavar if they are few, else "NAME".
std::string choice_metavar(const std::vector<std::string>& allowed) {
  constexpr std::size_t max_width = 32;
  std::string metavar = join(allowed, "|");
  return metavar.size() <= max_width ? metavar : "NAME";
}

std::string choice_help(const std::vector<std::string>& allowed, const std::string& help) {
  return choice_metavar(allowed) == "NAME" ? fmt::format("{}: {}", help, join(allowed, ", ")) : help;
}

}  // namespace

void OptionTable::State::add_standard() {
  const auto flag = [this](const char* name, bool* target, const char* help) {
    OptionEntry& entry = add(name, "", help);
    entry.is_flag = true;
    entry.assign = [target](const std::string& value) { return assign_bool(value, target); };
  };
  flag("json", &settings.json, "print results as JSON");
  flag("quiet", &settings.quiet, "print warnings and errors only");
  flag("verbose", &settings.verbose, "print more messages");
  OptionEntry& progress =
      add("progress", "auto|always|never", "progress on standard error: a bar, or lines in a log file");
  progress.values = names_of<ProgressMode>();
  progress.hint = [](const std::string& value) { return did_you_mean(value, names_of<ProgressMode>()); };
  progress.default_text = "auto";
  progress.assign = [this](const std::string& value) -> Problem {
    if (auto problem = check_choice(value, names_of<ProgressMode>())) return problem;
    settings.progress = *parse_name<ProgressMode>(value);
    return std::nullopt;
  };
  const auto none = [](const std::string&) { return Problem(); };
  OptionEntry& config =
      add("config", "FILE",
          "read options from FILE, with one line 'name = value' each; the command line takes precedence");
  config.assign = none;
  config.in_config = false;
  for (const auto& [name, help] :
       {std::pair{"help,h", "show the options that most people need"},
        {"help-all", "show all options, and examples"},
        {"version", "show the version; with --verbose, all that a bug report needs"}}) {
    OptionEntry& entry = add(name, "", help);
    entry.is_flag = true;
    entry.in_config = false;
    entry.assign = none;
  }
  for (OptionEntry& entry : entries) entry.is_standard = true;
}

OptionTable::OptionTable(std::string tool, std::string summary) : state_(std::make_unique<State>()) {
  state_->tool = std::move(tool);
  state_->summary = std::move(summary);
  state_->settings.tool = state_->tool;
  state_->add_standard();
}

OptionTable::~OptionTable() = default;
OptionTable::OptionTable(OptionTable&&) noexcept = default;

OptionTable& OptionTable::add(const std::string& name, std::string* target, const std::string& metavar,
                              const std::string& help) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = *target;
  entry.text = [target] { return *target; };
  entry.assign = [target](const std::string& value) {
    *target = value;
    return Problem();
  };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::int64_t* target, const std::string& metavar,
                              const std::string& help, std::int64_t minimum, std::int64_t maximum) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = short_count(*target);
  entry.text = [target] { return std::to_string(*target); };
  entry.assign = [=](const std::string& value) { return assign_integer(value, target, minimum, maximum); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, double* target, const std::string& metavar,
                              const std::string& help, double minimum, double maximum) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = fmt::format("{}", *target);
  entry.text = [target] { return fmt::format("{}", *target); };
  entry.assign = [=](const std::string& value) { return assign_number(value, target, minimum, maximum); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, bool* target, const std::string& help) {
  OptionEntry& entry = state_->add(name, "", help);
  entry.is_flag = true;
  entry.shows_no = *target;
  entry.default_text = *target ? "on" : "";
  entry.text = [target] { return *target ? "true" : "false"; };
  entry.assign = [target](const std::string& value) { return assign_bool(value, target); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::optional<bool>* target, const std::string& help) {
  OptionEntry& entry = state_->add(name, "", help);
  entry.is_flag = true;
  entry.shows_no = true;
  entry.text = [target] { return !*target ? "" : **target ? "true" : "false"; };
  entry.assign = [target](const std::string& value) { return assign_bool(value, &target->emplace()); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, Duration* target, const std::string& metavar,
                              const std::string& help) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = short_duration(target->seconds);
  entry.text = [target] { return short_duration(target->seconds); };
  entry.assign = [target](const std::string& value) { return assign_duration(value, target); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::vector<std::string>* target,
                              const std::string& metavar, const std::string& help) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.is_list = true;
  entry.default_text = join(*target, ",");
  entry.text = [target] { return join(*target, ","); };
  entry.assign = [target](const std::string& value) { return assign_list(value, target); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::optional<std::string>* target,
                              const std::string& metavar, const std::string& help) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = text_or_empty(*target);
  entry.text = [target] { return text_or_empty(*target); };
  entry.assign = [target](const std::string& value) {
    *target = value;
    return Problem();
  };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::optional<std::int64_t>* target,
                              const std::string& metavar, const std::string& help, std::int64_t minimum,
                              std::int64_t maximum) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = *target ? short_count(**target) : "";
  entry.text = [target] { return text_or_empty(*target); };
  entry.assign = [=](const std::string& value) { return assign_integer(value, target, minimum, maximum); };
  return *this;
}

OptionTable& OptionTable::add(const std::string& name, std::optional<double>* target,
                              const std::string& metavar, const std::string& help, double minimum,
                              double maximum) {
  OptionEntry& entry = state_->add(name, metavar, help);
  entry.default_text = text_or_empty(*target);
  entry.text = [target] { return text_or_empty(*target); };
  entry.assign = [=](const std::string& value) { return assign_number(value, target, minimum, maximum); };
  return *this;
}

OptionTable& OptionTable::choice(const std::string& name, std::vector<std::string> allowed,
                                 std::function<std::string()> text,
                                 std::function<void(const std::string&)> assign, const std::string& help) {
  OptionEntry& entry = state_->add(name, choice_metavar(allowed), choice_help(allowed, help));
  entry.values = allowed;
  entry.hint = [allowed](const std::string& value) { return did_you_mean(value, allowed); };
  entry.default_text = text();
  entry.text = std::move(text);
  entry.assign = [allowed = std::move(allowed), assign = std::move(assign)](const std::string& value) {
    Problem problem = check_choice(value, allowed);
    if (!problem) assign(value);
    return problem;
  };
  return *this;
}

OptionTable& OptionTable::conflicts_with(std::initializer_list<const char*> others, const std::string& why) {
  State& state = *state_;
  for (const std::string other : others) {
    state.last().conflicts.push_back(other);
    state.last().rules.push_back([&state, other, text = why.empty() ? why : ": " + why] {
      return state.is_on(other) ? fmt::format("cannot be combined with --{}{}", other, text) : std::string();
    });
  }
  return *this;
}

OptionTable& OptionTable::require(std::string what, std::function<bool()> holds) {
  State& state = *state_;
  state.last().needs.push_back(what);
  state.last().rules.push_back(
      [&state, name = state.last().name, what = std::move(what), holds = std::move(holds)] {
        const OptionEntry* entry = state.find(name);
        const bool is_turned_off = entry->given && !state.is_on(name);  // --no-NAME needs nothing
        return is_turned_off || holds() ? std::string() : "needs " + what;
      });
  return *this;
}

OptionTable& OptionTable::add_aliases(const std::string& name, std::initializer_list<const char*> others) {
  state_->at(name).aliases.assign(others.begin(), others.end());
  return *this;
}

OptionTable& OptionTable::use_binary_units() {
  OptionEntry& entry = state_->last();
  entry.in_binary = true;
  entry.assign = [assign = std::move(entry.assign)](const std::string& value) {
    return assign(binary_units(value));
  };
  return *this;
}

OptionTable& OptionTable::use_decimal_units() {
  OptionEntry& entry = state_->last();
  entry.default_text = with_unit(entry.default_text);
  entry.assign = [assign = std::move(entry.assign)](const std::string& value) {
    Problem problem = assign(without_unit(value));
    if (problem) *problem += " (K, M, G, T and P are understood)";
    return problem;
  };
  return *this;
}

OptionTable& OptionTable::add_hint(std::function<std::string(const std::string& value)> advice) {
  state_->last().hint = [first = std::move(advice), then = std::move(state_->last().hint)](const auto& v) {
    const std::string text = first(v);
    return text.empty() && then ? then(v) : text;
  };
  return *this;
}

OptionTable& OptionTable::add_unsupported(std::initializer_list<const char*> names, std::string advice) {
  state_->unsupported.push_back({{names.begin(), names.end()}, std::move(advice)});
  return *this;
}

}  // namespace dt
