// The parser of an OptionTable: the command line by Boost.Program_options, --config by itself.

#include "base/options.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/options_state.hpp"
#include "base/text.hpp"

namespace dt {

namespace {

namespace po = boost::program_options;

/// An option as it was written somewhere.
struct Written {
  OptionEntry* entry;
  std::string value;
  std::string name;   // "--lr", or "lr" in a file
  std::string place;  // "run.conf:3: ", or "" on the command line
};

struct CommandLine {
  std::vector<Written> options;
  std::vector<std::string> positional;

  const Written* find(const std::string& name) const {
    for (const Written& option : options) {
      if (option.entry->name == name) return &option;
    }
    return nullptr;
  }
};

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// The name that was probably meant: one that `name` abbreviates, or one at a small edit distance; "" without
/// any.
std::string nearest_name(const std::vector<OptionEntry>& entries, const std::string& name) {
  std::string nearest;
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const OptionEntry& entry : entries) {
    const bool abbreviated = name.size() >= 2 && entry.name.starts_with(name);
    const std::size_t distance = abbreviated ? 0 : edit_distance(name, entry.name);
    if (distance < best) {
      best = distance;
      nearest = entry.name;
    }
  }
  return nearest;
}

/// "lr" of "--lr=1".
std::string bare_name(const std::string& token) {
  const std::size_t begin = std::min(token.find_first_not_of('-'), token.size());
  return token.substr(begin, token.find('=') - begin);
}

Error unknown_option(const std::vector<OptionEntry>& entries, const std::string& place,
                     const std::string& token) {
  const std::string nearest = nearest_name(entries, bare_name(token));
  const char* dashes = place.empty() ? "--" : "";
  return Error(
      ErrorKind::usage, fmt::format("{}unknown option '{}'", place, token.substr(0, token.find('='))),
      nearest.empty() ? "see --help" : fmt::format("did you mean '{}{}'? see --help", dashes, nearest));
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

/// "no-shuffle" is an option's own name or turns off "shuffle".
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

Written read_option(const po::option& option, OptionTable::State& state) {
  const auto [entry, turned_on] = resolve(state, option.string_key);
  if (option.unregistered || entry == nullptr)
    throw unknown_option(state.entries, "", option.original_tokens.at(0));
  const std::string shown = "--" + option.string_key;
  if (entry->is_flag) return {entry, turned_on ? "true" : "false", shown, ""};
  if (option.value.empty()) throw missing_value(*entry);
  // The next option is no value: its own was forgotten. A value like that is written --name=--value.
  const bool separate = option.original_tokens.size() > 1;
  if (separate && option.value[0].starts_with("--")) throw missing_value(*entry);
  return {entry, option.value[0], shown, ""};
}

CommandLine read_command_line(int argc, const char* const* argv, OptionTable::State& state) {
  CommandLine line;
  for (const po::option& option : tokenize(argc, argv, state)) {
    if (option.position_key >= 0) {
      // "--=3" is taken for a nameless positional argument.
      if (option.value.at(0) != option.original_tokens.at(0)) {
        throw unknown_option(state.entries, "", option.original_tokens[0]);
      }
      line.positional.push_back(option.value.at(0));
      continue;
    }
    Written written = read_option(option, state);
    if (line.find(written.entry->name) != nullptr) {
      throw Error(ErrorKind::usage, fmt::format("option '--{}' is given twice", written.entry->name),
                  "see --help");
    }
    line.options.push_back(std::move(written));
  }
  if (!line.positional.empty() && state.positional == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("unexpected argument '{}'", line.positional[0]),
                fmt::format("{} takes options only; see --help", state.tool));
  }
  return line;
}

/// The value of "name = value": without blanks around it and without a comment; quotes keep both.
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

Written read_config_line(std::string_view line, const std::string& place, OptionTable::State& state) {
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    throw Error(ErrorKind::usage, fmt::format("{}'{}' is not an option", place, trim(line)),
                "expected 'name = value'");
  }
  const std::string name(trim(line.substr(0, equals)));
  const auto [entry, turned_on] = resolve(state, name);
  if (entry == nullptr) throw unknown_option(state.entries, place, name);
  if (!turned_on) {
    throw Error(ErrorKind::usage, fmt::format("{}option '{}' has no negation in a file", place, entry->name),
                fmt::format("write '{} = false'", entry->name));
  }
  if (!entry->in_config) throw usage_error("{}option '{}' belongs on the command line", place, name);
  return {entry, read_value(line.substr(equals + 1), place), name, place};
}

std::vector<Written> read_config(const std::string& path, OptionTable::State& state) {
  std::vector<Written> options;
  std::size_t number = 0;
  for (const std::string& line : split(read_file(path), '\n')) {
    ++number;
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#')) continue;
    Written option = read_config_line(content, fmt::format("{}:{}: ", path, number), state);
    for (const Written& other : options) {
      if (other.entry == option.entry)
        throw usage_error("{}option '{}' is given twice", option.place, option.name);
    }
    options.push_back(std::move(option));
  }
  return options;
}

void assign(const Written& option) {
  if (const auto expected = option.entry->assign(option.value)) {
    throw Error(ErrorKind::usage,
                fmt::format("{}invalid value '{}' for option '{}'", option.place, option.value, option.name),
                "expected " + *expected);
  }
  option.entry->given = true;
}

void follow_rules(const OptionEntry& entry) {
  for (const OptionRule& rule : entry.rules) {
    if (!entry.given) return;
    if (const std::string why = rule(); !why.empty()) throw usage_error("--{} {}", entry.name, why);
  }
}

}  // namespace

OptionTable::Outcome OptionTable::parse(int argc, const char* const* argv) {
  State& state = *state_;
  for (OptionEntry& entry : state.entries) {
    if (entry.text) entry.initial = entry.text();
  }
  CommandLine line = read_command_line(argc, argv, state);
  if (line.find("help") != nullptr) return Outcome::help;
  if (line.find("version") != nullptr) return Outcome::version;
  if (const Written* config = line.find("config")) {
    for (const Written& option : read_config(config->value, state)) assign(option);
  }
  for (const Written& option : line.options) assign(option);
  if (state.positional != nullptr && !line.positional.empty()) *state.positional = std::move(line.positional);
  if (!state.is_checked_later) check_all();
  return Outcome::run;
}

void OptionTable::check_all() {
  for (const auto& check : state_->checks) check();
  for (const OptionEntry& entry : state_->entries) follow_rules(entry);
}

bool OptionTable::supply(const std::string& name, const std::string& value, const std::string& place) {
  OptionEntry* entry = state_->find(name);
  DT_CHECK(entry != nullptr, "{} has no option --{}", state_->tool, name);
  const auto refuses = [](const OptionRule& rule) { return !rule().empty(); };
  if (entry->given || std::any_of(entry->rules.begin(), entry->rules.end(), refuses)) return false;
  assign({entry, value, name, place});
  entry->given = false;
  entry->supplied = true;
  return true;
}

}  // namespace dt
