#include "base/cli/manual.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/ranges.h>

#include "base/cli/environment.hpp"
#include "base/cli/mdoc.hpp"
#include "base/cli/options_state.hpp"
#include "base/error.hpp"
#include "base/text/text.hpp"

namespace dt {

namespace {

/// Returns a help line as a sentence. It begins with a capital letter if its first word is a plain
/// one, and none of the option's values.
std::string sentence(std::string text, const std::vector<std::string>& values = {}) {
  const std::string first = text.substr(0, text.find(' '));
  const auto is_letter = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  if (std::ranges::all_of(first, is_letter) && std::ranges::count(values, first) == 0 && !text.empty())
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

/// Returns what the table's rules say of an option, or "".
std::string describe_rules(const OptionEntry& entry) {
  std::string text;
  if (!entry.needs.empty()) text += fmt::format("Needs {}. ", fmt::join(entry.needs, ", and "));
  if (!entry.conflicts.empty())
    text += fmt::format("Cannot be combined with --{}.", fmt::join(entry.conflicts, ", --"));
  return std::string(trim(text));
}

std::string option_item(const OptionEntry& entry) {
  std::string item = ".It ";
  if (!entry.letter.empty()) item += fmt::format("Fl {} , ", entry.letter);
  item += "Fl " + mdoc_text("-" + entry.name);
  if (entry.shows_no) item += " , Fl " + mdoc_text("-no-" + entry.name);
  if (!entry.metavar.empty()) item += " Ar " + mdoc_argument(entry.metavar);
  return item + "\n";
}

std::string option_text(const OptionEntry& entry) {
  std::string text = sentence(entry.help, entry.values);
  if (!entry.default_text.empty()) text += fmt::format(" Default: {}.", entry.default_text);
  if (!entry.details.empty()) text += "\n\n" + entry.details;
  if (const std::string rules = describe_rules(entry); !rules.empty()) text += "\n\n" + rules;
  return option_item(entry) + mdoc_paragraphs(text);
}

template <class Belongs>
std::string option_group(const OptionTable::State& state, const std::string& title, Belongs belongs) {
  if (std::ranges::none_of(state.entries, belongs)) return "";
  std::string out = fmt::format(".Ss {}\n.Bl -tag -width Ds\n", mdoc_text(title));
  for (const OptionEntry& entry : state.entries) {
    if (belongs(entry)) out += option_text(entry);
  }
  return out + ".El\n";
}

std::string options_section(const OptionTable::State& state) {
  std::string out = ".Sh OPTIONS\n";
  out += mdoc_paragraphs(
      describe_units(state) +
      " If an option is given twice, the last value is used; a list option takes the values of all.");
  for (std::size_t group = 0; group <= state.groups.size(); ++group) {
    out += option_group(state, group == 0 ? "Options" : state.groups[group - 1],
                        [group](const OptionEntry& e) { return !e.is_standard && e.group == group; });
  }
  return out + option_group(state, "Common options", [](const OptionEntry& e) { return e.is_standard; });
}

std::string synopsis(const OptionTable::State& state) {
  std::string out = ".Sh SYNOPSIS\n";
  for (const std::string& usage : state.usages) out += fmt::format(".Nm\n{}\n", mdoc_text(usage));
  if (state.usages.empty()) out += ".Nm\n[options]\n";
  return out;
}

std::string description(const OptionTable::State& state, const Manual& manual) {
  std::string out = ".Sh DESCRIPTION\n" + mdoc_paragraphs(manual.description);
  std::vector<ManualEntry> arguments;
  for (const OptionTable::State::Command& command : state.commands)
    arguments.push_back({command.name + " " + command.arguments, sentence(command.summary)});
  if (!arguments.empty()) out += ".Pp\nThe commands are:\n" + mdoc_entries(arguments, "");
  if (state.positional != nullptr) {
    out += ".Pp\nArguments:\n";
    out += mdoc_entries({{state.positional_metavar, sentence(state.positional_help)}}, "");
  }
  return out;
}

std::string environment_section(const std::string& tool) {
  std::vector<ManualEntry> entries;
  for (const EnvironmentVariable& variable : environment_variables()) {
    if (std::ranges::count(split(variable.users, ' '), tool) > 0)
      entries.push_back({std::string(variable.name), std::string(variable.meaning)});
  }
  return ".Sh ENVIRONMENT\n" + mdoc_entries(entries, "Ev ");
}

std::string exit_section(const Manual& manual) {
  std::vector<ManualEntry> codes = {
      {"0", "Success."},
      {"1", "Internal error: a bug in dt."},
      {"2", "Usage: an unknown option, an invalid value, or options that cannot be combined."},
      {"3", "Bad input: a file or folder is missing, damaged, or has another format or version."},
      {"4",
       "Environment: a system call failed, memory or disk space ran out, or a rank, GPU or network failed."}};
  codes.insert(codes.end(), manual.exit_codes.begin(), manual.exit_codes.end());
  codes.push_back({"128 + N",
                   "Stopped by signal N. If the reader of standard output closes the pipe, the signal is "
                   "SIGPIPE (141)."});
  return ".Sh EXIT STATUS\n" + mdoc_entries(codes, "");
}

std::string examples_section(const OptionTable::State& state) {
  if (state.examples.empty()) return "";
  std::string out = ".Sh EXAMPLES\n";
  for (std::size_t i = 0; i < state.examples.size(); ++i) {
    std::string words = state.examples[i].explanation;
    if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    out += (i == 0 ? "" : ".Pp\n") + mdoc_paragraphs(words + ":") + mdoc_literal(state.examples[i].command);
  }
  return out;
}

std::string see_also_section(const Manual& manual) {
  if (manual.see_also.empty()) return "";
  std::string out = ".Sh SEE ALSO\n";
  for (const std::string& page : manual.see_also) {
    const std::size_t open = page.find('(');
    out += fmt::format(".Xr {} {}{}\n", page.substr(0, open), page.substr(open + 1, 1),
                       page == manual.see_also.back() ? "" : " ,");
  }
  return out;
}

}  // namespace

std::string man_page(const OptionTable& table, const Manual& manual, const std::string& date) {
  const OptionTable::State& state = table.state();
  std::string page = mdoc_head(state.tool, 1, state.summary, date) + synopsis(state) +
                     description(state, manual) + options_section(state);
  for (const ManualSection& section : manual.sections)
    page += fmt::format(".Sh {}\n{}{}", mdoc_text(section.title), mdoc_paragraphs(section.text),
                        mdoc_entries(section.entries, ""));
  page += environment_section(state.tool);
  if (!manual.files.empty()) page += ".Sh FILES\n" + mdoc_entries(manual.files, "Pa ");
  return page + exit_section(manual) + examples_section(state) + see_also_section(manual);
}

std::string environment_page(const std::string& date) {
  std::vector<ManualEntry> entries;
  for (const EnvironmentVariable& variable : environment_variables()) {
    entries.push_back({std::string(variable.name), fmt::format("{}\n\nUsed by: {}.", variable.meaning,
                                                               fmt::join(split(variable.users, ' '), ", "))});
  }
  return mdoc_head("dt-environment", 7, "environment variables that dt reads or sets", date) +
         ".Sh DESCRIPTION\n" +
         mdoc_paragraphs(
             "No variable replaces an option of a tool. This page lists the variables that dt itself reads "
             "or sets; libraries that dt uses read more. \"Recorded with each start\" means: dt-train stores "
             "them in the run directory, and dt-allreduce-bench prints them. \"jobs\" are the scripts in "
             "jobs/. \"As words\" means: split at blanks, without regard to quotes.") +
         ".Sh ENVIRONMENT\n" + mdoc_entries(entries, "Ev ") + ".Sh SEE ALSO\n.Xr dt-allreduce-bench 1 ,\n" +
         ".Xr dt-shard-data 1 ,\n.Xr dt-train 1\n";
}

}  // namespace dt
