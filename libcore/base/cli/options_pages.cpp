// The part of an OptionTable that only its readers need: for help, man pages and completions.

#include <utility>

#include "base/cli/options_state.hpp"

namespace dt {

OptionTable& OptionTable::usage(std::string line) {
  state_->usages.push_back(std::move(line));
  return *this;
}

OptionTable& OptionTable::group(std::string title) {
  state_->groups.push_back(std::move(title));
  return *this;
}

OptionTable& OptionTable::details(std::string text) {
  state_->last().details = std::move(text);
  return *this;
}

OptionTable& OptionTable::positional(std::vector<std::string>* target, const std::string& metavar,
                                     const std::string& help) {
  state_->positional = target;
  state_->positional_metavar = metavar;
  state_->positional_help = help;
  return *this;
}

OptionTable& OptionTable::run_as_ranks() {
  state_->runs_as_ranks = true;
  return *this;
}

OptionTable& OptionTable::timestamp_messages() {
  state_->settings.has_timestamps = true;
  return *this;
}

OptionTable& OptionTable::example(std::string command, std::string explanation) {
  state_->examples.push_back({std::move(command), std::move(explanation)});
  return *this;
}

OptionTable& OptionTable::complete(const std::string& name, std::vector<std::string> values) {
  state_->at(name).values = std::move(values);
  return *this;
}

OptionTable& OptionTable::describe_default(const std::string& name, std::string text) {
  state_->at(name).default_text = std::move(text);
  return *this;
}

OptionTable& OptionTable::everyday(std::initializer_list<const char*> names) {
  for (const char* name : names) state_->at(name).is_everyday = true;
  return *this;
}

OptionTable& OptionTable::command(std::string name, std::string arguments, std::string summary) {
  state_->commands.push_back({std::move(name), std::move(arguments), std::move(summary)});
  return *this;
}

}  // namespace dt
