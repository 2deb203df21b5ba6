#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <iostream>

#include "base/error.hpp"
#include "model/parameter_table.hpp"
#include "plan/published_steps.hpp"
#include "plan/time/peak_flops.hpp"
#include "plan/time/roofline_step.hpp"

using namespace dt;
using namespace dt::plan;
using dt_test::published_steps, dt_test::PublishedStep;

namespace {

/// Returns the plan of one GPU, or of data-parallel ranks on one node.
Plan plan_of(const char* model, std::int64_t sequence_length, std::int64_t micro_batch,
             std::int64_t global_batch, int ranks = 1) {
  Plan plan;
  plan.spec = model::load_model_spec(model);
  plan.precision.compute = DType::bf16;
  plan.device = Device::gpu(0);
  plan.launch = {.num_ranks = ranks, .ranks_per_node = ranks};
  plan.sequence_length = sequence_length, plan.micro_batch = micro_batch, plan.global_batch = global_batch;
  plan.micro_batches_per_step = global_batch / micro_batch;
  plan.layout.dp = ranks, plan.grad_lanes = ranks;
  plan.layout.stages =
      model::even_stages(static_cast<int>(model::ParameterTable(plan.spec).units().size()), 1);
  return plan;
}

double step_s(const Plan& plan, const KernelFeatures& traits = {}) {
  const GpuRates& h100 = rates_of("h100");
  return roofline_of(plan, h100, LinkBandwidths(h100.link_bytes_s), traits).step_s;
}

/// Steps of dt on one H100 SXM (80 GB, CUDA 13), measured by gpu-check.sh, 2026-11.
struct MeasuredStep {
  const char* name;
  double step_s;
  Plan plan;
};
std::vector<MeasuredStep> measured_steps() {
  return {{"gpt2-124m, 32 x 1024", 62.8e-3, plan_of("gpt2-124m", 1024, 32, 32)},
          {"llama-1b, 16 x 4096, 4 at a time", 1.000, plan_of("llama-1b", 4096, 4, 16)}};
}

std::string shares(const char* name, const Plan& plan) {
  const KernelFeatures without[] = {{.aligned_head = false},
                                    {.block_per_row = false},
                                    {.whole_mlp_backward = false},
                                    {.few_instructions = false}};
  const GpuRates& h100 = rates_of("h100");
  const StepRoofline roofline = roofline_of(plan, h100, LinkBandwidths(h100.link_bytes_s));
  std::string text = fmt::format("{}: {:.1f} ms, MFU {:.3f}", name, 1e3 * roofline.step_s, roofline.mfu);
  for (const KernelFeatures& traits : without)
    text += fmt::format(", +{:.1f}", 1e3 * (step_s(plan, traits) - roofline.step_s));
  const KernelFeatures none{false, false, false, false};
  const StepRoofline before = roofline_of(plan, h100, LinkBandwidths(h100.link_bytes_s), none);
  return text + fmt::format("; without all of them {:.1f} ms, MFU {:.3f}", 1e3 * before.step_s, before.mfu);
}

}  // namespace

TEST_CASE("a product takes as many waves as its tiles need") {
  const GpuRates& h100 = rates_of("h100");
  // These 132 tiles of 128 × 256 make one full wave.
  const Operation full = Operation::matmul("", 128 * 12, 256 * 11, 8192);
  CHECK(matmul_tiling(full, h100).waves == 1);
  CHECK(matmul_tiling(full, h100).wave_efficiency == Approx(1));
  const double peak_s = 2.0 * 128 * 12 * 256 * 11 * 8192 / (h100.peak_flops * h100.matmul_efficiency);
  CHECK(seconds_per_call(full, h100) ==
        Approx(peak_s + wave_start_s + 128 * 12 * 256 * 11 * 2 / (memory_efficiency * h100.memory_bytes_s) +
               kernel_gap_s));
  // One tile more takes another wave, unless smaller tiles do better.
  const Operation more = Operation::matmul("", 128 * 12, 256 * 11 + 8, 8192);
  CHECK(seconds_per_call(more, h100) > 1.3 * seconds_per_call(full, h100));
  // A product of few tiles with long sums is split.
  const Operation narrow = Operation::matmul("", 768, 768, 65536);
  CHECK(matmul_tiling(narrow, h100).split > 1);
  CHECK(matmul_tiling(narrow, h100).wave_efficiency > 0.7);
}

TEST_CASE("what is not aligned takes longer, small products wait for memory") {
  const GpuRates& h100 = rates_of("h100");
  Operation product = Operation::matmul("", 8192, 8192, 8192);
  const double aligned_s = seconds_per_call(product, h100);
  product.is_aligned = false;
  CHECK(seconds_per_call(product, h100) > 1.8 * aligned_s);
  const Operation thin = Operation::matmul("", 16, 8192, 8192);
  CHECK(seconds_per_call(thin, h100) > 2.0 * 8192 * 8192 / h100.memory_bytes_s);
  CHECK(seconds_per_call(Operation::memory("", 2.7939e9), h100) == Approx(1e-3 + kernel_gap_s));
}

TEST_CASE("there are rates of four GPUs") {
  CHECK(gpu_rate_names() == std::vector<std::string>{"a100", "h100", "h200", "b200"});
  CHECK(rates_of("a100").sms == 108);
  const std::pair<const char*, const char*> known[] = {
      {"a100", "A100-SXM4-80GB"}, {"h100", "H100 80GB HBM3"}, {"h200", "H200"}, {"b200", "B200"}};
  for (const auto& [name, cuda_name] : known)  // MFU uses the same peak
    CHECK(rates_of(name).peak_flops == gpu_peak_flops(cuda_name, DType::bf16, Arithmetic::fp32));
  CHECK_THROWS_WITH(rates_of("v100"), Catch::Contains("--roofline v100"));
  const auto flops = [](std::int64_t T) {
    return causal_attention_flops(AttentionLibrary::cudnn, Pass::forward, 128, T);
  };
  CHECK(flops(8192) == Approx(600e12 * 0.882));
  CHECK(flops(1 << 20) == flops(16384));
}

TEST_CASE("published steps come out within a tenth") {
  for (const PublishedStep& step : published_steps()) {
    INFO(step.name);
    CHECK(step.modelled_tokens_s() == Approx(step.tokens_s).epsilon(0.1));
  }
}

TEST_CASE("measured steps come out within a twentieth") {
  for (const MeasuredStep& step : measured_steps()) {
    INFO(step.name);
    CHECK(step_s(step.plan) == Approx(step.step_s).epsilon(0.05));
  }
}

TEST_CASE("a step's products have the FLOPs of the model") {
  for (const char* model : {"gpt2-124m", "llama-1b"}) {
    const Plan plan = plan_of(model, 1024, 4, 8);
    const GpuRates& h100 = rates_of("h100");
    double flops = 0;
    for (const Operation& o : roofline_of(plan, h100, LinkBandwidths(h100.link_bytes_s)).operations) {
      if (o.kind == OperationKind::matmul)
        flops += o.count * 2 * static_cast<double>(o.M * o.N) * static_cast<double>(o.K);
      if (o.kind == OperationKind::attention)
        flops += o.count * o.flops * (o.name == "attention" ? 2 : 2 / 1.25);
    }
    CHECK(flops ==
          Approx(plan.flops_per_token() * 8 * 1024).epsilon(0.002));  // the head's chunks are rounded up
  }
}

TEST_CASE("each of the kernels' properties is worth something, and all together the most") {
  for (const char* model : {"gpt2-124m", "llama-1b"}) {
    const Plan plan = plan_of(model, 1024, 16, 16);
    const double with_all = step_s(plan);
    CHECK(step_s(plan, {.block_per_row = false}) > with_all);
    CHECK(step_s(plan, {.whole_mlp_backward = false}) > with_all);
    CHECK(step_s(plan, {.few_instructions = false}) > with_all);
    const bool is_odd = plan.spec.vocabulary % 8 != 0;
    CHECK((step_s(plan, {.aligned_head = false}) > with_all) == is_odd);
  }
}

TEST_CASE("layouts compute their share, and wait for each other") {
  const GpuRates& h100 = rates_of("h100");
  const Plan one = plan_of("llama-1b", 2048, 2, 16), eight = plan_of("llama-1b", 2048, 2, 16, 8);
  const StepRoofline alone = roofline_of(one, h100, LinkBandwidths(h100.link_bytes_s)),
                     together = roofline_of(eight, h100, LinkBandwidths(h100.link_bytes_s));
  CHECK(alone.waiting_s() == Approx(0).margin(1e-6));
  CHECK(together.waiting_s() > 0);
  CHECK(together.tokens_per_s > 6 * alone.tokens_per_s);
  CHECK(together.tokens_per_s < 8 * alone.tokens_per_s);
  Plan pipeline = one;
  pipeline.layout = {.pp = 2, .stages = model::even_stages(24, 2)};
  pipeline.launch = {.num_ranks = 2, .ranks_per_node = 2};
  CHECK(roofline_of(pipeline, h100, LinkBandwidths(h100.link_bytes_s)).computing_s < 0.7 * alone.computing_s);
  Plan fp32 = one;
  fp32.precision.compute = DType::f32;
  CHECK_THROWS_WITH(roofline_of(fp32, h100, LinkBandwidths(1e9)), Catch::Contains("16-bit"));
}

TEST_CASE("print the roofline of published and measured steps, and what properties of kernels are worth",
          "[.roofline]") {
  for (const PublishedStep& step : published_steps()) {
    const double tokens_s = step.modelled_tokens_s();
    std::cout << fmt::format("{:<24} {:>9.0f} tokens/s, published {:>9.0f} ({:+.1f} %)\n", step.name,
                             tokens_s, step.tokens_s, 100 * (tokens_s / step.tokens_s - 1));
  }
  for (const MeasuredStep& step : measured_steps()) {
    const double seconds = step_s(step.plan);
    std::cout << fmt::format("{:<33} {:>7.1f} ms, measured {:>7.1f} ms ({:+.1f} %)\n", step.name,
                             1e3 * seconds, 1e3 * step.step_s, 100 * (seconds / step.step_s - 1));
  }
  std::cout << "H100, what would be added without: aligned head, a block a row, the MLP's backward at once, "
               "few instructions\n";
  for (const MeasuredStep& step : measured_steps()) std::cout << shares(step.name, step.plan) << "\n";
}
