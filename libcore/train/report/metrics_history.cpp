#include "train/report/metrics_history.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/io/reverse_lines.hpp"
#include "base/text/utf8.hpp"

namespace dt::train {

namespace {

using checkpoint::CheckpointEntry;

/// The members of a line that a start acts on.
struct MetricsLine {
  std::string kind;
  std::optional<std::int64_t> step;
  std::int64_t generation = 0;  // generation that wrote the line; 0: not told, by an older dt
  std::string checkpoint;       // checkpoint that a resume continues from
  std::string path;             // path of a saved checkpoint

  /// Returns whether the line is the first of a generation.
  bool begins_generation() const { return generation > 0 && (kind == "start" || kind == "resume"); }
};

std::string string_member(const JsonValue& line, const char* name) {
  const auto member = line.find(name);
  return member && member->is_string() ? member->string() : "";
}

/// Returns none if the line lacks the member, or has a value that dt does not write.
std::optional<std::int64_t> count_member(const JsonValue& line, const char* name) {
  try {
    return line.integer(name, 0, std::numeric_limits<std::int64_t>::max());
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns none for a line that is no JSON object.
std::optional<MetricsLine> parse_metrics_line(const std::string& text) {
  const std::optional<JsonValue> json = JsonValue::parse_if_object(text);
  if (!json) return std::nullopt;
  return MetricsLine{.kind = string_member(*json, "kind"),
                     .step = count_member(*json, "step"),
                     .generation = count_member(*json, "generation").value_or(0),
                     .checkpoint = string_member(*json, "checkpoint"),
                     .path = string_member(*json, "path")};
}

/// Calls `use` with each line from the last to the first, until it returns false.
template <class Use>
void read_from_end(const fs::path& metrics, Use use) {
  if (!path_exists(metrics)) return;
  ReverseLines lines(metrics);
  for (std::string text; lines.next(text);) {
    const std::optional<MetricsLine> line = parse_metrics_line(text);
    if (line && !use(*line)) return;
  }
}

/// Returns the local checkpoint that a line announces, if it does.
std::optional<CheckpointEntry> announced_by(const MetricsLine& line) {
  if (line.kind != local_checkpoint_line_kind) return std::nullopt;
  return checkpoint::parse_checkpoint_name(unescape_bytes(line.path));
}

/// Finds out whether a step was evaluated on the newest generation's lineage. Its lines come after
/// the line of its start, and that line after the one by which its parent generation started.
/// Other generations may write at any time: a process that was taken for dead, or a start that was
/// overtaken by another before it wrote its line.
class EvaluationSearch {
 public:
  EvaluationSearch(std::int64_t step, std::int64_t newest_claimed)
      : step_(step), newest_claimed_(newest_claimed) {}

  /// Reads the line before those that were read. Returns the answer once no line before this one
  /// can change it.
  std::optional<bool> add(const MetricsLine& line) {
    newest_ = std::max(newest_, line.generation);
    if (line.begins_generation()) add_start(line);
    if (line.kind == "eval" && line.step == step_) add_evaluation(line);
    // The newest generation's number is the highest, wherever its lines are.
    if (newest_claimed_ == 0 || newest_ < newest_claimed_) return std::nullopt;
    return answer_for(newest_);
  }

  /// Returns the answer once all lines are read.
  bool answer() const {
    if (evaluated_by_untold_) return true;  // before the first start
    if (parents_.empty()) return !evaluated_by_.empty();
    return answer_for(parents_.rbegin()->first).value_or(false);
  }

 private:
  struct Parent {
    std::int64_t generation = 0;  // 0: none in this run
    std::int64_t step = 0;        // step of the checkpoint that the start continued from
  };

  void add_start(const MetricsLine& line) {
    Parent parent{.step = line.step.value_or(0)};
    const auto entry = checkpoint::parse_checkpoint_name(line.checkpoint);
    if (entry && line.checkpoint.find('/') == std::string::npos) parent.generation = entry->generation;
    parents_.emplace(line.generation, parent);  // the last line in the file holds
    if (evaluated_by_untold_) evaluated_by_.insert(line.generation);
    evaluated_by_untold_ = false;
  }

  void add_evaluation(const MetricsLine& line) {
    if (line.generation > 0)
      evaluated_by_.insert(line.generation);
    else
      evaluated_by_untold_ = true;
  }

  /// Follows the lineage of a generation. Returns none where the line of a start on it was not read.
  std::optional<bool> answer_for(std::int64_t generation) const {
    for (;;) {
      if (evaluated_by_.contains(generation)) return true;
      const auto start = parents_.find(generation);
      if (start == parents_.end()) return std::nullopt;
      const Parent& parent = start->second;
      // Lines of older generations count up to the step that this one continued from.
      if (parent.generation == 0 || parent.generation >= generation || parent.step < step_) return false;
      generation = parent.generation;
    }
  }

  std::int64_t step_;
  std::int64_t newest_claimed_;
  std::int64_t newest_ = 0;                 // highest generation of a line
  std::map<std::int64_t, Parent> parents_;  // keyed by generation
  std::set<std::int64_t> evaluated_by_;     // generations that evaluated the step
  bool evaluated_by_untold_ = false;        // by the generation of the next line of a start
};

}  // namespace

bool has_evaluation(const fs::path& metrics, std::int64_t step, std::int64_t newest_claimed) {
  EvaluationSearch search(step, newest_claimed);
  std::optional<bool> answer;
  read_from_end(metrics, [&](const MetricsLine& line) {
    answer = search.add(line);
    return !answer;
  });
  return answer ? *answer : search.answer();
}

bool has_announced_local_checkpoint(const fs::path& metrics) {
  bool found = false;
  read_from_end(metrics, [&](const MetricsLine& line) {
    found = announced_by(line).has_value();
    return !found;
  });
  return found;
}

bool has_announced_local_checkpoint(const fs::path& metrics, std::set<std::int64_t> generations) {
  bool found = false;
  read_from_end(metrics, [&](const MetricsLine& line) {
    const auto entry = announced_by(line);
    found = entry && generations.contains(entry->generation);
    if (line.begins_generation()) generations.erase(line.generation);  // it wrote no line before this one
    return !found && !generations.empty();
  });
  return found;
}

std::vector<CheckpointEntry> announced_local_checkpoints(const fs::path& metrics,
                                                         const std::optional<CheckpointEntry>& newest_known) {
  std::vector<CheckpointEntry> found;
  read_from_end(metrics, [&](const MetricsLine& line) {
    if (const auto entry = announced_by(line)) found.push_back(*entry);
    // A generation's steps only increase. What it wrote of an earlier step, it wrote before it
    // saved the known checkpoint, so before newer generations on the lineage began.
    const bool is_older = newest_known && line.generation == newest_known->generation &&
                          (line.begins_generation() || (line.step && *line.step < newest_known->step));
    return !is_older;
  });
  return found;
}

}  // namespace dt::train
