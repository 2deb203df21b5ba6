#include "train/start/inherit_options.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/io/files.hpp"
#include "base/text/text.hpp"
#include "checkpoint/checkpoint_name.hpp"
#include "comm/exchange.hpp"
#include "data/read/mixture.hpp"
#include "plan/choose_layout.hpp"
#include "run/run_directory.hpp"
#include "train/report/metrics_history.hpp"
#include "train/start/candidates.hpp"
#include "train/start/inheritance.hpp"
#include "train/start/run_record.hpp"

namespace dt::train {

namespace {

struct InheritedOption {
  std::string name;
  std::string value;
};

bool has_run_record(const fs::path& folder) {
  return file_exists(folder / "run.json");
}

/// Returns the run directory whose options are inherited; "" if there is none.
fs::path find_source_run(const plan::Settings& s) {
  if (s.resume.from == "never") return {};
  if (s.resume.run && has_run_record(*s.resume.run)) return *s.resume.run;
  const bool is_named = s.resume.from != "auto";
  if (!is_named && !(s.eval_only && s.resume.init_from)) return {};
  std::error_code error;
  const fs::path checkpoint = fs::weakly_canonical(is_named ? s.resume.from : *s.resume.init_from, error);
  const fs::path run = checkpoint.parent_path().parent_path();
  return !error && checkpoint::parse_checkpoint_name(checkpoint) && has_run_record(run) ? run : fs::path();
}

/// Returns whether a start has a checkpoint to continue from. The checkpoint then names the model.
bool has_checkpoint(const plan::Settings& s, const fs::path& run) {
  if (s.resume.from != "auto" || (s.eval_only && s.resume.init_from)) return true;
  const run::RunDirectory directory(run);
  return !directory.checkpoints().empty() || !foreign_parent_checkpoint(directory).empty();
}

bool exists(const InheritanceRule& kind, const std::string& value) {
  if (kind.path_kind != NameMatching::mixture) return path_exists(value);
  return std::ranges::all_of(data::parse_mixture(value),
                             [&](const data::MixtureSource& source) { return path_exists(source.folder); });
}

/// Returns the value as written if it means the same path here; otherwise the recorded absolute
/// path.
std::string value_here(const InheritanceRule& kind, const RecordedOption& option) {
  if (option.path.empty() || absolute_value(kind, option.value) == option.path) return option.value;
  return exists(kind, option.path) ? option.path : option.value;
}

std::string to_argument(const InheritedOption& supply) {
  if (supply.value == "true") return "--" + supply.name;
  if (supply.value == "false") return "--no-" + supply.name;
  return fmt::format("--{} {}", supply.name, supply.value);
}

std::int64_t number_of(const std::string& text) {
  try {
    return parse_count(text);
  } catch (const Error&) {  // supplying the option reports it
    return 1;
  }
}

/// Chooses the supplied options in the order of inheritance_rules().
class InheritanceChoice {
 public:
  InheritanceChoice(const plan::Settings& settings, const OptionTable& options, RecordedOptions recorded,
                    const plan::Launch& launch)
      : settings_(settings), recorded_(std::move(recorded)), launch_(launch) {
    for (const OptionValue& option : options.values()) asked_.emplace(option.name, option);
    ranks_ = settings.ranks_per_model();  // ranks that the given options need; the others count 1
  }

  void choose(bool has_checkpoint) {
    for (const InheritanceRule& kind : inheritance_rules()) {
      const OptionValue& asked = asked_.at(kind.name);
      const auto found = recorded_.find(kind.name);
      if (kind.inheritance == Inheritance::never || found == recorded_.end()) continue;
      if (kind.inheritance == Inheritance::cadence && settings_.eval_only) continue;
      const bool is_wanted = !asked.given && found->second.is_given(asked.initial) && !is_replaced(kind) &&
                             !(kind.path_kind == NameMatching::model && has_checkpoint);
      const bool is_supplied = is_wanted && is_allowed(kind, found->second.value);
      if (is_supplied) inherited_.push_back({kind.name, value_here(kind, found->second)});
      const std::string& value = is_supplied ? found->second.value : asked.value;
      if (value == found->second.value && has_unchanged_dependency(kind)) unchanged_.insert(kind.name);
    }
  }
  const std::vector<InheritedOption>& inherited() const { return inherited_; }
  /// Returns the options that the number of ranks does not allow: "--tp 4".
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  bool is_replaced(const InheritanceRule& kind) const {
    return std::ranges::any_of(
        asked_, [&](const auto& other) { return other.second.given && replaces(other.first, kind.name); });
  }
  bool has_unchanged_dependency(const InheritanceRule& kind) const {
    return kind.depends_on.empty() || unchanged_.contains(kind.depends_on);
  }
  bool is_allowed(const InheritanceRule& kind, const std::string& value) {
    if (kind.inheritance != Inheritance::layout) return true;
    if (!has_unchanged_dependency(kind)) return false;
    bool fits = true;
    if (kind.name == "tp" || kind.name == "cp" || kind.name == "pp") {
      const std::int64_t factor = std::max<std::int64_t>(1, number_of(value));
      fits = ranks_ * factor <= launch_.num_ranks;
      if (fits) ranks_ *= factor;
    }
    if (kind.name == "zero-group") fits = allows_groups(value);
    if (!fits) refused_.push_back(fmt::format("--{} {}", kind.name, value));
    return fits;
  }
  bool allows_groups(const std::string& value) const {
    plan::Settings s = settings_;
    for (const InheritedOption& supply : inherited_) {
      if (supply.name == "tp") s.tp = number_of(supply.value);
      if (supply.name == "cp") s.cp = number_of(supply.value);
      if (supply.name == "pp") s.pp = number_of(supply.value);
      if (supply.name == "zero") s.zero = number_of(supply.value);
    }
    s.zero_group = value;
    return plan::allows_zero_group(s, launch_);
  }

  const plan::Settings& settings_;
  RecordedOptions recorded_;
  const plan::Launch& launch_;
  std::map<std::string, OptionValue> asked_;
  std::vector<InheritedOption> inherited_;
  std::vector<std::string> refused_;
  std::set<std::string> unchanged_;  // options that have the run's values
  std::int64_t ranks_ = 1;           // ranks of one model, as far as they are chosen
};

/// Refuses to start a run anew without the weights that it began with.
void require_initial_weights(const plan::Settings& s, const RecordedOptions& recorded, const fs::path& run) {
  const auto found = recorded.find("init-from");
  if (found == recorded.end() || found->second.value.empty() || s.resume.init_from || s.eval_only) return;
  const RecordedOption& weights = found->second;
  throw Error(ErrorKind::usage,
              fmt::format("{} started with --init-from {} and has no checkpoint to resume from", run.string(),
                          weights.value),
              fmt::format("give --init-from {} again, or use --resume never to start without it",
                          weights.path.empty() ? weights.value : weights.path));
}

void report_inherited(const InheritanceChoice& choice, const fs::path& run, const plan::Launch& launch,
                      Console& console) {
  constexpr std::size_t num_shown = 3;
  const std::string file = (run / "run.json").string();
  if (!choice.refused().empty()) {
    console.info("{} from {} {} not fit {} rank{}: using the default", fmt::join(choice.refused(), ", "),
                 file, choice.refused().size() == 1 ? "does" : "do", launch.num_ranks,
                 launch.num_ranks == 1 ? "" : "s");
  }
  std::vector<std::string> shown;
  for (const InheritedOption& supply : choice.inherited()) {
    shown.push_back(to_argument(supply));
    console.debug("from {}: {}", file, shown.back());
  }
  if (shown.empty()) return;
  const std::size_t more = shown.size() > num_shown + 1 ? shown.size() - num_shown : 0;
  shown.resize(shown.size() - more);
  console.info("using options from {}: {}{}", file, fmt::join(shown, " "),
               more == 0 ? "" : fmt::format(" and {} more (--verbose lists them)", more));
}

std::vector<InheritedOption> choose_inherited(const plan::Settings& settings, const OptionTable& options,
                                              const plan::Launch& launch, Console& console) {
  const fs::path run = find_source_run(settings);
  if (run.empty()) return {};
  RecordedOptions recorded;
  try {
    recorded = recorded_options(run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    console.warn("{}: the file is ignored, and omitted options take their defaults", error.what());
    return {};
  }
  const bool can_go_on = has_checkpoint(settings, run);
  // Checkpoints on nodes alone are found later, and the start continues from them.
  if (!can_go_on && !has_announced_local_checkpoint(run / "metrics.jsonl"))
    require_initial_weights(settings, recorded, run);
  InheritanceChoice choice(settings, options, std::move(recorded), launch);
  choice.choose(can_go_on);
  report_inherited(choice, run, launch, console);
  return choice.inherited();
}

std::string to_text(const std::vector<InheritedOption>& supplies) {
  std::string text;
  for (const InheritedOption& supply : supplies) text += supply.name + '\0' + supply.value + '\0';
  return text;
}

}  // namespace

void inherit_options(const plan::Settings& settings, OptionTable& options, const plan::Launch& launch,
                     const comm::Ranks& ranks) {
  std::string text;
  comm::on_root(ranks, [&] {
    for (const OptionValue& option : options.values())
      inheritance_rule(option.name);  // checks that it exists
    if (settings.resume.run) run::RunDirectory(*settings.resume.run).refuse_strangers();
    text = to_text(choose_inherited(settings, options, launch, ranks.console));
  });
  text = comm::broadcast_text(ranks.world, text);
  comm::run_collectively(ranks.world, [&] {
    if (!ranks.are_processes && !ranks.is_root()) return;  // threads have rank 0's settings
    const std::vector<std::string> fields = split(text, '\0');
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
      options.set_if_omitted(fields[i], fields[i + 1], "run.json: ");
  });
}

}  // namespace dt::train
