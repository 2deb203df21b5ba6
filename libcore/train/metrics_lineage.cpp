#include "train/metrics_lineage.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint_name.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::json;

std::int64_t integer_of(const Json& line, const char* member) {
  return line.is_object() && line.contains(member) && line[member].is_number_integer()
             ? line[member].get<std::int64_t>()
             : 0;
}

}  // namespace

void MetricsLineage::add(const std::string& line) {
  if (!line.starts_with("{\"kind\":\"start\"") && !line.starts_with("{\"kind\":\"resume\"")) return;
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::int64_t generation = integer_of(json, "generation");
  if (generation == 0) return;  // torn
  last_ = generation;
  Origin origin{.step = integer_of(json, "step")};
  if (json.contains("checkpoint") && json["checkpoint"].is_string()) {
    const auto name = json["checkpoint"].get<std::string>();
    const auto entry = checkpoint::parse_checkpoint_name(name);
    if (entry && name.find('/') == std::string::npos) origin.generation = entry->generation;
  }
  origins_[generation] = origin;
}

std::int64_t MetricsLineage::generation_of(const std::string& line) const {
  const std::int64_t own = integer_of(Json::parse(line, nullptr, /*allow_exceptions=*/false), "generation");
  return own > 0 ? own : last_;
}

bool MetricsLineage::counts(std::int64_t generation, std::int64_t step) const {
  if (generation == 0) return true;  // of before the first that is told
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
  for (auto at = origins_.empty() ? origins_.end() : std::prev(origins_.end()); at != origins_.end();) {
    if (at->first == generation) return step <= last_step;
    if (at->second.generation >= at->first) return false;
    last_step = std::min(last_step, at->second.step);
    at = origins_.find(at->second.generation);
  }
  return origins_.empty();
}

}  // namespace dt::train
