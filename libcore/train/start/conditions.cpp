#include "train/start/conditions.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/cli/build_info.hpp"
#include "base/io/json.hpp"
#include "base/numeric/digest.hpp"
#include "comm/exchange.hpp"
#include "kernels/arithmetic.hpp"
#include "kernels/attention.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "plan/attention.hpp"
#include "plan/precision.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

/// Returns each line that any rank has, once, sorted.
std::vector<std::string> gather_distinct_lines(comm::Communicator& ranks,
                                               const std::vector<std::string>& own) {
  std::set<std::string> all;
  for (const std::string& text : comm::gather_texts(ranks, fmt::format("{}", fmt::join(own, "\n")))) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.insert(line);
  }
  return {all.begin(), all.end()};
}

std::string_view matmul_of(const plan::Plan& plan) {
  if (plan.device == Device::host()) return name_of(plan.arithmetic);
  return plan.arithmetic == Arithmetic::tf32 ? "cuda tf32" : "cuda";
}

}  // namespace

std::string describe_conditions(const plan::Plan& plan, const std::vector<std::string>& gpu_products) {
  const bool is_host = plan.device == Device::host();
  Json conditions{
      {"device", name_of(plan.device.kind())},
      {"gpu", plan.launch.gpu.name},
      {"gpu_software", plan.launch.gpu.software},
      {"threads", plan.threads},
      {"precision", precision_name(plan.precision.compute)},
      {"grad_dtype", precision_name(plan.precision.gradient)},
      {"matmul", matmul_of(plan)},
      {"row_chunks", is_host ? 1 : plan.tp_chunks},  // chunks of rows do not affect CPUs' products
      {"tp", plan.layout.tp},
      {"cp", plan.layout.cp},
      {"sequence_parallel", plan.layout.sequence_parallel},
      {"micro_batch", plan.micro_batch},
      {"global_batch", plan.global_batch},
      {"grad_lanes", plan.grad_lanes},
      {"reduce_dtype", precision_name(plan.precision.wire())},
      {"reduce_order", plan.reduce_order == comm::ReduceOrder::tree ? std::string(name_of(plan.reduce_order))
                                                                    : plan.launch.device_collectives},
      {"gradient_sum", plan.describe_gradient_reduction()},
      {"optimizer", name_of(plan.optimizer.kind)},
      {"moments", name_of(plan.optimizer.moments)},
      {"lr_scale", plan.parameter_settings.describe_lr_scale()},
      {"no_decay", plan.parameter_settings.describe_no_decay()},
      {"mup_base_width", plan.parameter_settings.mup.base_width()},
      {"mup_base_head_dim", plan.parameter_settings.mup.base_head_dim()},
      {"clip_norm", plan.clip_norm},
      {"z_loss", plan.z_loss},
      {"qk_clip", plan.qk_clip},
      {"mask_documents", plan.mask_documents},
      {"instruction_set", instruction_set()},
      {"build", build_description()},
      {"program", to_hex(executable_digest())}};
  for (const auto& [name, value] : optim::used_values(plan.optimizer))
    std::visit([&json = conditions[name]](auto number) { json = number; }, value);
  if (optim::updates_matrices(plan.optimizer)) conditions["matrices"] = optim::matrix_definition;
  if (optim::factors_moments(plan.optimizer)) conditions["matrices"] = optim::factored_definition;
  if (const std::string sums = plan::attention_reduction_order(plan); !sums.empty())
    conditions["attention_sums"] = sums;
  if (!gpu_products.empty()) conditions["gpu_products"] = gpu_products;
  return conditions.dump();
}

std::vector<std::string> condition_differences(const std::string& then, const std::string& now) {
  const auto a = JsonValue::parse_if_object(then), b = JsonValue::parse_if_object(now);
  std::vector<std::string> differences;
  if (!a || !b) return differences;
  for (const std::string& name : b->names()) {
    if (!a->has(name)) continue;  // absent in manifests of other versions
    const std::string before = a->at(name).text(), after = b->at(name).text();
    if (before != after) differences.push_back(fmt::format("{} {} → {}", name, before, after));
  }
  return differences;
}

std::vector<std::string> matmul_algorithms_used(comm::Communicator& ranks) {
  return gather_distinct_lines(ranks, kernels::matmul_algorithms());
}

std::vector<std::string> attention_fallbacks_used(comm::Communicator& ranks) {
  return gather_distinct_lines(ranks, kernels::attention_fallbacks());
}

}  // namespace dt::train
