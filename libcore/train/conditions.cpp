#include "train/conditions.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/build_info.hpp"
#include "train/precision.hpp"

namespace dt::train {

using Json = nlohmann::ordered_json;

namespace {

/// Dividing gradients sums each round of micro-batches over the ranks, so their number matters.
std::string gradient_sum(const Plan& plan) {
  const bool is_by_rounds = plan.zero >= 2 && plan.rounds() > 1;
  return is_by_rounds ? fmt::format("by rounds of {} ranks", plan.place.dp) : "by lanes";
}

}  // namespace

std::string describe_conditions(const Plan& plan) {
  return Json{{"threads", plan.threads},
              {"precision", precision_name(plan.precision.compute)},
              {"grad_dtype", precision_name(plan.precision.gradient)},
              {"matmul", precision_name(plan.multiply)},
              {"micro_batch", plan.micro_batch},
              {"global_batch", plan.global_batch},
              {"grad_lanes", plan.grad_lanes},
              {"gradient_sum", gradient_sum(plan)},
              {"instruction_set", instruction_set()},
              {"build", build_description()}}
      .dump();
}

std::vector<std::string> condition_differences(const std::string& then, const std::string& now) {
  const Json a = Json::parse(then, nullptr, /*allow_exceptions=*/false);
  const Json b = Json::parse(now, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> differences;
  if (!a.is_object() || !b.is_object()) return differences;
  for (const auto& [name, value] : b.items()) {
    if (!a.contains(name)) continue;  // not told by the version that wrote it
    const Json& before = a[name];
    if (before != value) differences.push_back(fmt::format("{} {} → {}", name, before.dump(), value.dump()));
  }
  return differences;
}

}  // namespace dt::train
