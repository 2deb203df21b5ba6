#include "plan/memory/memory_estimate.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "plan/attention.hpp"
#include "plan/gpt2_job.hpp"

using namespace dt;
using namespace dt::plan;
using dt_test::Job, dt_test::parameters, dt_test::table_numel, dt_test::whole_state;

TEST_CASE("a host holds what all its ranks do, divided as the layout says") {
  Job job(4);
  const auto holds = [&](double bytes) {
    CHECK(static_cast<double>(host_state_bytes(job.plan())) == Approx(bytes).epsilon(1e-3));
  };
  holds(4 * whole_state());
  job.settings.zero = 1;
  holds(4 * (whole_state() - 8 * parameters()) + 8 * parameters());
  job.settings.zero = 3;
  holds(whole_state());
  job.settings.zero = 0, job.settings.pp = 4;
  // The last stage also has the table's weights, and the first stage the last one's gradient.
  holds(whole_state() + 8 * table_numel);
}

TEST_CASE("of several hosts the one whose ranks take most counts") {
  Job job(4, 2);
  job.settings.pp = 2;
  job.settings.stage_units = {"13", "1"};
  CHECK(static_cast<double>(host_state_bytes(job.plan())) ==
        Approx(2 * (16 * parameters() + 4 * table_numel)).epsilon(1e-3));
}

TEST_CASE("evaluation holds weights alone") {
  Job job(2);
  Plan plan = job.plan();
  plan.micro_batches_per_step = 0;
  CHECK(static_cast<double>(host_state_bytes(plan)) == Approx(2 * 4 * parameters()).epsilon(1e-3));
}

TEST_CASE("ranks that divide sequences hold as much less of activations, and all state") {
  const auto estimate = [](int cp) {
    Job job(cp);
    job.settings.cp = cp;
    Plan plan = job.plan();
    plan.sequence_length = 8192;
    const std::vector<MemoryEstimate> stages = estimate_memory(plan);
    REQUIRE(stages.size() == 1);
    return stages.front();
  };
  const MemoryEstimate one = estimate(1);
  const auto activations = [](const MemoryEstimate& memory) {
    return static_cast<double>(memory.activations - (std::size_t{30} << 20));  // without the kernels' share
  };
  for (const int cp : {2, 4}) {
    const MemoryEstimate part = estimate(cp);
    CHECK(activations(part) * cp == Approx(activations(one)).epsilon(0.1));
    CHECK(part.storage.weights + part.storage.optimizer == one.storage.weights + one.storage.optimizer);
  }
}

TEST_CASE("stages hold the activations that their lists make them hold") {
  Job job(4);
  job.settings.pp = 4;
  const auto activations = [&](std::string_view schedule) {
    job.settings.pp_schedule = parse_name<model::PipelineScheduleKind>(schedule).value();
    std::vector<std::size_t> bytes;
    for (const MemoryEstimate& memory : estimate_memory(job.plan())) bytes.push_back(memory.activations);
    return bytes;
  };
  const auto one_f_one_b = activations("1f1b"), gpipe = activations("gpipe");
  REQUIRE(one_f_one_b.size() == 4);
  CHECK(one_f_one_b[0] > one_f_one_b[1]);  // the same number of blocks, for one micro-batch more
  CHECK(one_f_one_b[1] > one_f_one_b[2]);
  // GPipe holds 16 micro-batches, 1F1B 3. The comparison leaves the kernels' share aside.
  CHECK(gpipe[1] > 3 * one_f_one_b[1] - 2 * (std::size_t{30} << 20));
  job.settings.recompute = Recompute::full;
  CHECK(activations("gpipe")[1] < gpipe[1] / 4);
}

TEST_CASE("the rank with the most micro-batches is the one that is told of") {
  Job job(3);
  job.settings.global_batch = 4;  // ranks have 1, 1 and 2
  const std::vector<MemoryEstimate> stages = estimate_memory(job.plan());
  REQUIRE(stages.size() == 1);
  CHECK(stages.front().batches == 4 * 2 * 64 * 4);
  CHECK(host_memory_bytes(job.plan(), stages) == 3 * stages.front().total());
}

TEST_CASE("a GPU holds what is computed with, and its host what passes through it") {
  Job job(4, 4);
  Plan plan = job.plan();
  const MemoryEstimate on_cpu = estimate_memory(plan).front();
  plan.device = Device::gpu(0);
  plan.launch.gpus_per_node = 2;
  const std::vector<MemoryEstimate> stages = estimate_memory(plan);
  const MemoryEstimate& memory = stages.front();
  CHECK(on_cpu.pinned == 0);
  CHECK(memory.pinned == std::size_t{64} << 20);                   // one lane, for gradients of all sizes
  CHECK(memory.checkpoint_copy == memory.storage.checkpoint / 4);  // each replica writes a part
  CHECK(host_memory_bytes(plan, stages) ==
        4 * (memory.batches + memory.checkpoint_copy + memory.receive_buffers + memory.pinned));
  CHECK(gpu_memory_bytes(plan) == 2 * (memory.storage.total() + memory.activations + memory.workspaces +
                                       memory.batches + memory.context));
  plan.threads = 64;  // threads pack nothing for a GPU
  CHECK(estimate_memory(plan).front().activations == memory.activations);
}

TEST_CASE("what messages pin is bounded, and less for small ones") {
  const auto pinned = [](const std::function<void(Settings&)>& ask) {
    Job job(4);
    ask(job.settings);
    Plan plan = job.plan();
    plan.device = Device::gpu(0);
    std::size_t most = 0;
    for (const MemoryEstimate& memory : estimate_memory(plan)) most = std::max(most, memory.pinned);
    return most;
  };
  constexpr std::size_t lane = std::size_t{64} << 20,
                        rows = 8 * 64 * 768 * 4;  // eight messages of one sequence
  CHECK(pinned([](Settings& s) { s.zero = 3; }) == lane);
  CHECK(pinned([](Settings& s) { s.pp = 4; }) == 2 * rows + 2 * lane);  // the ends' tied table, both ways
  CHECK(pinned([](Settings& s) { s.pp = 2; }) ==
        lane + 2 * rows + 2 * lane);  // and the tied table, both ways
  CHECK(pinned([](Settings& s) { s.cp = 4; }) == lane + 2 * 2 * rows / 4);
}

TEST_CASE("where nodes have different numbers of ranks, the fullest GPU and the fullest host count") {
  Plan plan = Job(4).plan();
  plan.device = Device::gpu(0);
  plan.launch.ranks_per_node = 0;
  plan.launch.hosts = {0, 0, 0, 1};
  plan.launch.gpus = {0, 1, 0, 2};
  const std::vector<MemoryEstimate> stages = estimate_memory(plan);
  const MemoryEstimate& memory = stages.front();
  CHECK(gpu_memory_bytes(plan) == 2 * (memory.device_bytes() + memory.batches + memory.context));
  CHECK(host_memory_bytes(plan, stages) == 3 * memory.host_bytes());
}

TEST_CASE("what attention's backward takes at 128k follows from how it sums, which is a condition") {
  Job job(1);
  Plan plan = job.plan();
  plan.device = plan.launch.device = Device::gpu(0);
  plan.precision.compute = DType::bf16;
  plan.spec.query_heads = 32, plan.spec.key_value_heads = 8, plan.spec.head_dim = 128;
  plan.sequence_length = 131072;
  const auto scratch = [&] {
    const auto bytes = kernels::cuda::attention_scratch_bytes(attention_shape(plan), attention_use(plan, 0));
    return static_cast<double>(bytes) / (1 << 30);
  };
  CHECK(attention_reduction_order(plan) == "kept weights");
  CHECK(scratch() > 128);
  plan.launch.orders_attention_sums = true;
  CHECK(attention_reduction_order(plan) == "ordered");
  CHECK(scratch() < 2.5);
  plan.mask_documents = true;
  CHECK(scratch() > 32);
  plan.layout.cp = 8;  // chunks of 8192
  CHECK(attention_reduction_order(plan) == "kept weights");
  CHECK(scratch() < 2.5);
  plan.device = Device::host();
  CHECK(attention_reduction_order(plan).empty());
}

TEST_CASE("attention that no library computes is told, and why") {
  Job job(1);
  Plan plan = job.plan();
  plan.precision.compute = DType::bf16;
  plan.spec.head_dim = 20;
  CHECK(describe_slow_attention(plan).empty());  // a plan for CPUs
  plan.device = Device::gpu(0);
  CHECK_THAT(describe_slow_attention(plan), Catch::Contains("multiples of 8 only, not 20"));
  plan.spec.head_dim = 64;
  CHECK(describe_slow_attention(plan).empty());
  plan.precision.compute = DType::f32;
  CHECK_THAT(describe_slow_attention(plan), Catch::Contains("only, not fp32"));
}
