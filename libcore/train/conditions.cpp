#include "train/conditions.hpp"

#include <nlohmann/json.hpp>

#include "base/build_info.hpp"
#include "train/precision.hpp"

namespace dt::train {

using Json = nlohmann::ordered_json;

std::string describe_conditions(const Plan& plan) {
  return Json{{"threads", plan.threads},
              {"precision", precision_name(plan.precision.compute)},
              {"grad_dtype", precision_name(plan.precision.gradient)},
              {"matmul", precision_name(plan.multiply)},
              {"micro_batch", plan.micro_batch},
              {"global_batch", plan.global_batch},
              {"grad_lanes", plan.grad_lanes},
              {"reduce_dtype", precision_name(plan.precision.wire())},
              {"gradient_sum", plan.gradient_sum()},
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
