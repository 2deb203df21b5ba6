// The state of an OptionTable, and its parser. Boost.Program_options splits the command line; dt parses
// --config itself.

#include "base/cli/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <utility>

#include "base/cli/options_state.hpp"
#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/suggest.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

namespace po = boost::program_options;

/// An option as the command line or a file gives it.
struct ParsedOption {
  OptionEntry* entry;
  std::string value;
  std::string name;   // "--lr", or "lr" in a file
  std::string place;  // "run.conf:3: ", or "" on the command line
};

struct CommandLine {
  std::vector<ParsedOption> options;
  std::vector<std::string> positional;

  const ParsedOption* find(const std::string& name) const {
    for (const ParsedOption& option : options) {
      if (option.entry->name == name) return &option;
    }
    return nullptr;
  }
};

/// Returns "lr" for "--lr=1".
std::string bare_name(const std::string& token) {
  const std::size_t begin = std::min(token.find_first_not_of('-'), token.size());
  return token.substr(begin, token.find('=') - begin);
}

/// Returns the options that other tools call `name`, as in "--lr or --min-lr". Without any, returns
/// the nearest name, or "".
std::string suggest_options(const OptionTable::State& state, const std::string& name, const char* dashes) {
  std::string meant;
  std::vector<std::string> names;
  for (const OptionEntry& entry : state.entries) {
    names.push_back(entry.name);
    const bool is_meant = std::ranges::any_of(
        entry.aliases, [&](const std::string& other) { return is_same_name(name, other); });
    if (is_meant) meant += fmt::format("{}'{}{}'", meant.empty() ? "" : " or ", dashes, entry.name);
  }
  if (!meant.empty()) return meant;
  for (const OptionEntry& entry : state.entries) {
    const bool has_negation = entry.is_flag && !entry.is_standard && *dashes != '\0';  // not in files
    if (has_negation) names.push_back("no-" + entry.name);
  }
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("'{}{}'", dashes, nearest);
}

/// Returns the advice for an option of other tools that this tool lacks, or "" if there is none.
std::string unsupported_option_advice(const OptionTable::State& state, const std::string& name) {
  for (const OptionTable::State::UnsupportedOption& foreign : state.unsupported) {
    const auto is_it = [&](const std::string& other) { return is_same_name(name, other); };
    if (std::ranges::any_of(foreign.names, is_it)) return foreign.advice;
  }
  return "";
}

Error unknown_option(const OptionTable::State& state, const std::string& place, const std::string& token) {
  const std::string name = bare_name(token);
  const std::string advice = unsupported_option_advice(state, name);
  const std::string meant = advice.empty() ? suggest_options(state, name, place.empty() ? "--" : "") : "";
  return Error(ErrorKind::usage,
               fmt::format("{}unknown option '{}'", place, token.substr(0, token.find('='))),
               !advice.empty()  ? advice
               : !meant.empty() ? fmt::format("did you mean {}? see --help", meant)
                                : "see --help");
}

Error missing_value(const OptionEntry& entry) {
  return Error(ErrorKind::usage, fmt::format("option '--{}' needs a value", entry.name),
               fmt::format("write --{} {}", entry.name, entry.metavar));
}

po::options_description describe(const std::vector<OptionEntry>& entries) {
  po::options_description description;
  for (const OptionEntry& entry : entries) {
    const std::string names = entry.letter.empty() ? entry.name : entry.name + "," + entry.letter;
    if (entry.is_flag) {
      description.add_options()(names.c_str(), "")(("no-" + entry.name).c_str(), "");
    } else {
      description.add_options()(names.c_str(), po::value<std::string>(), "");
    }
  }
  return description;
}

/// Resolves a name: "no-shuffle" is either an option's own name or turns off "shuffle".
std::pair<OptionEntry*, bool> resolve(OptionTable::State& state, const std::string& name) {
  if (OptionEntry* entry = state.find(name)) return {entry, true};
  if (!name.starts_with("no-")) return {nullptr, true};
  OptionEntry* entry = state.find(name.substr(3));
  return {entry != nullptr && entry->is_flag ? entry : nullptr, false};
}

Error syntax_error(const po::error& error, OptionTable::State& state) {
  const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error);
  const OptionEntry* entry = syntax ? resolve(state, bare_name(syntax->get_option_name())).first : nullptr;
  if (entry == nullptr) return Error(ErrorKind::usage, error.what(), "see --help");
  if (!entry->is_flag) return missing_value(*entry);
  return Error(ErrorKind::usage, fmt::format("option '--{}' takes no value", entry->name),
               fmt::format("write --{0} or --no-{0}", entry->name));
}

std::vector<po::option> tokenize(int argc, const char* const* argv, OptionTable::State& state) {
  using namespace po::command_line_style;
  const po::options_description description = describe(state.entries);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  constexpr int style = allow_long | long_allow_adjacent | long_allow_next | allow_short |
                        allow_dash_for_short | short_allow_adjacent | short_allow_next;
  try {
    return po::command_line_parser(arguments)
        .options(description)
        .style(style)
        .allow_unregistered()
        .run()
        .options;
  } catch (const po::error& error) {
    throw syntax_error(error, state);
  }
}

ParsedOption read_option(const po::option& option, OptionTable::State& state) {
  const auto [entry, turned_on] = resolve(state, option.string_key);
  if (option.unregistered || entry == nullptr) throw unknown_option(state, "", option.original_tokens.at(0));
  const std::string shown = "--" + option.string_key;
  if (entry->is_flag) return {entry, turned_on ? "true" : "false", shown, ""};
  if (option.value.empty()) throw missing_value(*entry);
  // The next option is not a value: the value was forgotten. A value that looks like an option is
  // written --name=--value.
  const bool separate = option.original_tokens.size() > 1;
  if (separate && option.value[0].starts_with("--")) throw missing_value(*entry);
  return {entry, option.value[0], shown, ""};
}

/// Adds an option to those before it. Lists grow; for other options the last value counts.
void add(std::vector<ParsedOption>& options, ParsedOption option, OptionTable::State& state) {
  const auto before = std::ranges::find(options, option.entry, &ParsedOption::entry);
  if (before == options.end()) return options.push_back(std::move(option));
  if (option.entry->is_list) {
    before->value += "," + option.value;
    return;
  }
  const bool is_flag = option.entry->is_flag;
  const std::string counts = !is_flag               ? "'" + option.value + "'"
                             : option.place.empty() ? option.name
                                                    : option.value;
  const std::string name = (option.place.empty() ? "--" : "") + option.entry->name;
  state.warnings.push_back(
      fmt::format("{}option '{}' is given twice; the last one, {}, is used", option.place, name, counts));
  *before = std::move(option);
}

CommandLine read_command_line(int argc, const char* const* argv, OptionTable::State& state) {
  CommandLine line;
  for (const po::option& option : tokenize(argc, argv, state)) {
    if (option.position_key >= 0) {
      // The parser takes "--=3" for a positional argument without a name.
      if (option.value.at(0) != option.original_tokens.at(0)) {
        throw unknown_option(state, "", option.original_tokens[0]);
      }
      line.positional.push_back(option.value.at(0));
      continue;
    }
    ParsedOption written = read_option(option, state);
    add(line.options, std::move(written), state);
  }
  if (!line.positional.empty() && state.positional == nullptr) {
    const std::string& argument = line.positional[0];
    const std::string meant = suggest_options(state, argument, "--");
    throw Error(ErrorKind::usage, fmt::format("unexpected argument '{}'", argument),
                fmt::format("{}{} takes options only; see --help",
                            meant.empty() ? "" : fmt::format("did you mean {}? ", meant), state.tool));
  }
  return line;
}

/// Returns the value of "name = value", without surrounding blanks and comment. Quotes keep both.
std::string read_value(std::string_view text, const std::string& place) {
  text = trim(text);
  if (text.starts_with('"')) {
    const std::size_t end = text.find('"', 1);
    const std::string_view rest = end == std::string_view::npos ? "?" : trim(text.substr(end + 1));
    if (!rest.empty() && !rest.starts_with('#')) throw usage_error("{}a closing '\"' is missing", place);
    return std::string(text.substr(1, end - 1));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) text = text.substr(0, i);
  }
  return std::string(trim(text));
}

ParsedOption read_config_line(std::string_view line, const std::string& place, OptionTable::State& state) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    throw Error(ErrorKind::usage, fmt::format("{}'{}' is not an option", place, trim(line)),
                "expected 'name = value'");
  }
  const std::string name(trim(line.substr(0, equals)));
  const auto [entry, turned_on] = resolve(state, name);
  if (entry == nullptr) throw unknown_option(state, place, name);
  if (!turned_on) {
    throw Error(ErrorKind::usage, fmt::format("{}option '{}' has no negation in a file", place, entry->name),
                fmt::format("write '{} = false'", entry->name));
  }
  if (!entry->in_config) throw usage_error("{}option '{}' is allowed only on the command line", place, name);
  return {entry, read_value(line.substr(equals + 1), place), name, place};
}

std::vector<ParsedOption> read_config(const std::string& path, OptionTable::State& state) {
  std::vector<ParsedOption> options;
  std::size_t number = 0;
  for (const std::string& line : split(read_file_or_pipe(path), '\n')) {
    ++number;
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#')) continue;
    add(options, read_config_line(content, fmt::format("{}:{}: ", path, number), state), state);
  }
  return options;
}

void assign(const ParsedOption& option) {
  if (const auto expected = option.entry->assign(option.value)) {
    const std::string advice = option.entry->hint ? option.entry->hint(option.value) : "";
    throw Error(ErrorKind::usage,
                fmt::format("{}invalid value '{}' for option '{}'", option.place, option.value, option.name),
                advice + "expected " + *expected);
  }
  option.entry->given = true;
}

void check_rules(const OptionEntry& entry) {
  for (const OptionRule& rule : entry.rules) {
    if (!entry.given) return;
    if (const std::string why = rule(); !why.empty()) throw usage_error("--{} {}", entry.name, why);
  }
}

}  // namespace

OptionEntry* OptionTable::State::find(const std::string& name) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const OptionEntry& e) { return e.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

OptionEntry& OptionTable::State::at(const std::string& name) {
  OptionEntry* entry = find(name);
  DT_CHECK(entry != nullptr, "{} has no option --{}", tool, name);
  return *entry;
}

OptionEntry& OptionTable::State::last() {
  DT_CHECK(!entries.back().is_standard, "{}: a rule is added before the first option", tool);
  return entries.back();
}

bool OptionTable::State::is_on(const std::string& name) {
  const OptionEntry* entry = find(name);
  DT_CHECK(entry != nullptr && !entry->is_standard, "{} has no option --{} of its own", tool, name);
  return entry->given && !(entry->is_flag && entry->text() == "false");
}

OptionEntry& OptionTable::State::add(const std::string& name, const std::string& metavar,
                                     const std::string& help) {
  const std::size_t comma = name.find(',');
  OptionEntry entry;
  entry.name = name.substr(0, comma);
  if (comma != std::string::npos) entry.letter = name.substr(comma + 1);
  entry.metavar = metavar;
  entry.help = help;
  entry.group = groups.size();
  DT_CHECK(find(entry.name) == nullptr, "option --{} is added twice", entry.name);
  entries.push_back(std::move(entry));
  return entries.back();
}

OptionTable::Outcome OptionTable::parse(int argc, const char* const* argv) {
  State& state = *state_;
  for (OptionEntry& entry : state.entries) {
    if (entry.text) entry.initial = entry.text();
  }
  CommandLine line = read_command_line(argc, argv, state);
  if (line.find("help") != nullptr) return Outcome::help;
  if (line.find("help-all") != nullptr) return Outcome::help_all;
  if (line.find("version") != nullptr) {
    if (const ParsedOption* verbose = line.find("verbose")) assign(*verbose);
    return Outcome::version;
  }
  if (const ParsedOption* config = line.find("config")) {
    for (const ParsedOption& option : read_config(config->value, state)) assign(option);
  }
  for (const ParsedOption& option : line.options) assign(option);
  if (state.positional != nullptr && !line.positional.empty()) *state.positional = std::move(line.positional);
  if (!state.defers_checks) check_all();
  return Outcome::run;
}

OptionTable& OptionTable::check(std::function<void(const OptionTable&)> check) {
  state_->checks.push_back(std::move(check));
  return *this;
}

OptionTable& OptionTable::defer_checks() {
  state_->defers_checks = true;
  return *this;
}

void OptionTable::check_all() {
  for (const auto& check : state_->checks) check(*this);
  for (const OptionEntry& entry : state_->entries) check_rules(entry);
}

bool OptionTable::set_if_omitted(const std::string& name, const std::string& value,
                                 const std::string& place) {
  OptionEntry* entry = &state_->at(name);
  const auto refuses = [](const OptionRule& rule) { return !rule().empty(); };
  if (entry->given || std::any_of(entry->rules.begin(), entry->rules.end(), refuses)) return false;
  assign({entry, value, name, place});
  entry->given = false;
  entry->is_set_later = true;
  return true;
}

bool OptionTable::runs_as_ranks() const {
  return state_->runs_as_ranks;
}

const std::string& OptionTable::tool() const {
  return state_->tool;
}

const ConsoleSettings& OptionTable::console_settings() const {
  return state_->settings;
}

const std::vector<std::string>& OptionTable::warnings() const {
  return state_->warnings;
}

bool OptionTable::given(const std::string& name) const {
  return state_->at(name).given;
}

std::vector<OptionValue> OptionTable::values() const {
  std::vector<OptionValue> values;
  for (const OptionEntry& entry : state_->entries) {
    if (entry.is_standard) continue;
    values.push_back({entry.name, entry.text(), entry.given || entry.is_set_later, entry.initial});
  }
  return values;
}

}  // namespace dt
