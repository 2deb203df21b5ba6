#include "train/report/metrics_lineage.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/io/json.hpp"
#include "checkpoint/checkpoint_name.hpp"

namespace dt::train {

namespace {

/// Returns 0 if the line lacks the member, or has a value that dt does not write.
std::int64_t integer_or_zero(const std::optional<JsonValue>& line, const char* member) {
  try {
    return line && line->has(member) ? line->integer(member, 0, INT64_MAX) : 0;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

void MetricsLineage::add(const std::string& line) {
  if (!line.starts_with("{\"kind\":\"start\"") && !line.starts_with("{\"kind\":\"resume\"")) return;
  const std::optional<JsonValue> json = JsonValue::parse_if_object(line);
  const std::int64_t generation = integer_or_zero(json, "generation");
  if (generation == 0) return;  // incomplete line
  last_ = generation;
  ParentGeneration origin{.step = integer_or_zero(json, "step")};
  if (const auto text = json->find("checkpoint"); text && text->is_string()) {
    const std::string& name = text->string();
    const auto entry = checkpoint::parse_checkpoint_name(name);
    if (entry && name.find('/') == std::string::npos) origin.generation = entry->generation;
  }
  parents_[generation] = origin;
}

std::int64_t MetricsLineage::generation_of(const std::string& line) const {
  const std::int64_t own = integer_or_zero(JsonValue::parse_if_object(line), "generation");
  return own > 0 ? own : last_;
}

std::map<std::int64_t, std::int64_t> MetricsLineage::last_steps() const {
  std::map<std::int64_t, std::int64_t> steps = {{0, std::numeric_limits<std::int64_t>::max()}};
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  for (auto at = parents_.empty() ? parents_.end() : std::prev(parents_.end()); at != parents_.end();) {
    steps[at->first] = last_step;
    if (at->second.generation >= at->first) break;
    last_step = std::min(last_step, at->second.step);
    at = parents_.find(at->second.generation);
  }
  return steps;
}

}  // namespace dt::train
