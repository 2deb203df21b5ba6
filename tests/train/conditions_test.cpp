#include "train/start/conditions.hpp"

#include <catch2/catch.hpp>

#include "base/cli/build_info.hpp"
#include "base/numeric/digest.hpp"

using namespace dt;
using namespace dt::train;

namespace {

using Differences = std::vector<std::string>;

/// Returns the differences between the conditions of a default plan and of a changed one.
Differences after(const std::function<void(plan::Plan&)>& change) {
  plan::Plan plan;
  change(plan);
  return condition_differences(describe_conditions(plan::Plan()), describe_conditions(plan));
}

}  // namespace

TEST_CASE("what changes the bits is a condition, and told when it differs") {
  CHECK(after([](plan::Plan&) {}).empty());
  CHECK(after([](plan::Plan& p) { p.threads = 2; }) == Differences{"threads 1 → 2"});
  CHECK(after([](plan::Plan& p) { p.layout.tp = 2; }) == Differences{"tp 1 → 2"});
  CHECK(after([](plan::Plan& p) { p.layout.sequence_parallel = true; }) ==
        Differences{"sequence_parallel false → true"});
  CHECK(after([](plan::Plan& p) { p.layout.pp = 2, p.layout.dp = 4; }).empty());
  CHECK(after([](plan::Plan& p) { p.optimizer.beta1 = 0.8; }) == Differences{"beta1 0.9 → 0.8"});
  CHECK(after([](plan::Plan& p) { p.optimizer.beta2 = 0.99; }) == Differences{"beta2 0.95 → 0.99"});
  CHECK(after([](plan::Plan& p) { p.optimizer.eps = 1e-5; }) == Differences{"adam_eps 1e-08 → 1e-05"});
  CHECK(after([](plan::Plan& p) {
          p.parameter_settings[model::ParameterClass::embedding] = {.lr_scale = 0.1, .decays = false};
        }) == Differences{R"(lr_scale "" → "embedding=0.1")", R"(no_decay "" → "embedding")"});
  CHECK(after([](plan::Plan& p) { p.arithmetic = Arithmetic::amx; }) ==
        Differences{"matmul \"fp32\" → \"amx\""});
  CHECK(after([](plan::Plan& p) { p.mask_documents = true; }) == Differences{"mask_documents false → true"});
}

TEST_CASE("what a GPU multiplies fp32 in is a condition") {
  plan::Plan plan;
  plan.device = Device::gpu(0);
  const std::string in_fp32 = describe_conditions(plan);
  plan.arithmetic = Arithmetic::tf32;
  CHECK(condition_differences(in_fp32, describe_conditions(plan)) ==
        Differences{"matmul \"cuda\" → \"cuda tf32\""});
}

TEST_CASE("by which algorithms GPUs multiply is a condition, once they have") {
  const plan::Plan plan;
  const std::string at_first = describe_conditions(plan), later = describe_conditions(plan, {"a", "b"});
  CHECK(condition_differences(at_first, later).empty());
  CHECK(condition_differences(later, at_first).empty());
  CHECK(condition_differences(later, describe_conditions(plan, {"a", "c"})) ==
        Differences{R"(gpu_products ["a","b"] → ["a","c"])"});
}

TEST_CASE("how attention's backward sums on GPUs is a condition") {
  plan::Plan plan;
  plan.device = Device::gpu(0);
  plan.precision.compute = DType::bf16;
  plan.micro_batch = 1, plan.sequence_length = 1 << 16;
  plan.spec.query_heads = plan.spec.key_value_heads = 4, plan.spec.head_dim = 64;
  const std::string kept = describe_conditions(plan);
  plan.launch.orders_attention_sums = true;
  CHECK(condition_differences(kept, describe_conditions(plan)) ==
        Differences{R"(attention_sums "kept weights" → "ordered")"});
  CHECK_THAT(describe_conditions(plan::Plan()), !Catch::Contains("attention_sums"));
}

TEST_CASE("the conditions name the program by its content") {
  CHECK_THAT(describe_conditions(plan::Plan()),
             Catch::Contains("\"program\":\"" + to_hex(executable_digest()) + "\""));
}

TEST_CASE("of what an older version did not record, nothing is said") {
  CHECK(condition_differences(R"({"threads":1,"build":"dt 0.0.9"})", R"({"threads":1,"program":"0123"})")
            .empty());
  CHECK(condition_differences("{}", describe_conditions(plan::Plan())).empty());
  CHECK(condition_differences("", describe_conditions(plan::Plan())).empty());
}
