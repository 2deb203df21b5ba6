// Pipelines whose stages communicate through NCCL, simulated: no step hangs, whatever waits a GPU imposes
// on a rank.

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <numeric>

#include "base/numeric/integer.hpp"
#include "comm/device_collectives/device_transport.hpp"
#include "comm/threads/thread_group.hpp"
#include "device/nccl/in_tests.hpp"
#include "device/nccl/stand_in.hpp"
#include "device/test_device.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/engine/executor.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/schedule/activation_peak.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/stages.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::parallel;
using dt_test::grouped_spec;
using model::PipelineScheduleKind;
using test_device::Use;

namespace {

constexpr double timeout_s = 20;

struct Case {
  model::Layout layout;
  int micro_batches = 0;  // per step
  bool recomputes = false;
  int chunks = 1;  // number in which layers that ranks share exchange rows
  Precision precision{};
  model::SavedActivations saved_activations = model::SavedActivations::all;
  bool grows = true;  // kernels need more than the arena has at first
  int num_stages() const { return layout.pp * layout.virtual_stages; }
  /// Returns the most micro-batches of any rank.
  int rounds() const { return ceil_div(micro_batches, layout.dp); }
  int num_units() const { return num_stages() + 2; }
};

/// Returns the layout with one block a stage; the first stage has the embedding, too, and the last the
/// head.
model::Layout one_block_a_stage(model::Layout layout) {
  std::vector<int> counts(static_cast<std::size_t>(layout.pp * layout.virtual_stages), 1);
  ++counts.front();
  ++counts.back();
  const Stages stages = stages_from_counts(counts, std::accumulate(counts.begin(), counts.end(), 0));
  layout.stages = stage_units_of(stages, schedule_of(layout, 1));
  return layout;
}

/// One rank's model on a GPU of its own.
class Rank {
 public:
  Rank(const Case& c, const model::ParameterTable& table, const model::ModelSpec& spec,
       comm::Communicator& world)
      : case_(c),
        pipeline_(pipeline_of(c.layout, c.num_units(), c.rounds(), spec.tied)),
        context_(1, test_device::nccl_device_of(world.rank())),
        computes_on_(world.engine(), context_),
        local_(table, c.layout, c.layout.coordinates_of(world.rank())),
        groups_(c.layout, with_streams(world, context_.device()), channels_of(pipeline_),
                spec.key_value_heads),
        plan_(LanePlan(c.micro_batches, c.layout.dp).of_rank(local_.place().dp, c.layout.dp)),
        ops_(c.layout, local_.place(), groups_, c.chunks),
        units_(model::make_units(context_.device(), spec, table, c.precision.compute, c.saved_activations,
                                 ops_)),
        storage_(context_.device(), local_, c.precision, &plan_, groups_, {}),
        executor_(context_, units_, storage_, &ops_) {
    context_.set_poll([this] { executor_.poll(); });
    for (const LocalParam& param : local_.params()) {
      storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
        model::initialise(local_.spec(param), 7, piece, values, 1);
      });
    }
    auto batch = test::Batch::arbitrary(spec, plan_.num_micro_batches(), 4);
    for (std::int64_t s = 0; s < batch.sequences; ++s) {
      model::MicroBatch& m = micro_batches_.emplace_back(batch.micro_batch(s, s + 1));
      for (Tensor* const rows : {&m.tokens_R, &m.labels_R, &m.positions_R}) *rows = placed(*rows);
    }
    if (!c.grows) take_scratch();
    context_.synchronize();
  }

  bool is_idle() const { return micro_batches_.empty(); }
  /// Prepares a step with a micro-batch that this rank did not have.
  void prepare_one_more() { executor_.prepare(list_, std::vector<model::MicroBatch>(1), 0); }
  void prepare() { executor_.prepare(list_, micro_batches_, static_cast<int>(plan_.first_micro_batch())); }
  void step() {
    StepHooks hooks{.loss = {}, .control = [] {}, .step = [this] { storage_.weights().mark_updated(); }};
    // The arena grows from the second micro-batch on.
    if (case_.grows) hooks.output = [this](int, int, const Tensor&) { take_scratch(); };
    executor_.run(list_, micro_batches_, static_cast<int>(plan_.first_micro_batch()), hooks);
    context_.synchronize();
    const std::int64_t estimated = micro_batches_.empty() ? 0 : activation_peak_bytes(list_, unit_bytes());
    if (executor_.activation_bytes() != static_cast<std::size_t>(estimated))
      throw Error(ErrorKind::internal,
                  fmt::format("{} bytes of activations, not {}", executor_.activation_bytes(), estimated));
  }

 private:
  ActionList list_of_steps() const {
    const StepShape shape{.num_units = case_.num_units(),
                          .first_micro_batch = static_cast<int>(plan_.first_micro_batch()),
                          .num_micro_batches = static_cast<int>(plan_.num_micro_batches()),
                          .max_micro_batches = case_.rounds(),
                          .recompute = case_.recomputes,
                          .zero = case_.layout.zero};
    return build_training_steps(shape, pipeline_)[static_cast<std::size_t>(local_.place().pp)];
  }
  static comm::Communicator& with_streams(comm::Communicator& world, Device device) {
    world.set_device_transport(comm::device_transport_library()->open(world, device, timeout_s));
    return world;
  }
  Tensor placed(const Tensor& values) {
    const Tensor there(memory_.emplace_back(context_.device(), values.bytes()), values.dtype(),
                       values.shape());
    kernels::copy(context_, values, there);
    return there;
  }
  std::vector<UnitBytes> unit_bytes() const {
    std::vector<UnitBytes> all;
    for (const auto& unit : units_) {
      const model::MicroBatch& m = micro_batches_.front();
      const auto output = static_cast<std::size_t>(unit->output_shape(m.batch, m.sequence).numel()) *
                          dtype_bytes(unit->output_dtype());
      all.push_back({.output = static_cast<std::int64_t>(output),
                     .saved = static_cast<std::int64_t>(unit->saved_bytes(m.batch, m.sequence)),
                     .backward_handoff = static_cast<std::int64_t>(
                         unit->backward_handoff_bytes(context_.device(), m.batch, m.sequence))});
    }
    return all;
  }
  void take_scratch() {
    constexpr std::int64_t bytes = 3 << 18;  // two allocations exceed a chunk
    const Arena::Scope scope(context_.scratch());
    for (int i = 0; i < 2; ++i) context_.scratch().allocate(DType::u8, {bytes});
  }

  const Case& case_;
  Pipeline pipeline_;
  Context context_;
  comm::ScopedDevice computes_on_;
  LocalTable local_;
  Groups groups_;
  LanePlan plan_;
  ActionList list_ = list_of_steps();
  CommTensorParallelOps ops_;
  std::vector<std::unique_ptr<model::Unit>> units_;
  ModelStorage storage_;
  std::deque<Buffer> memory_;
  std::vector<model::MicroBatch> micro_batches_;
  Executor executor_;
};

/// Runs two steps; throws what a rank throws.
void train(const Case& c, std::uint64_t seed) {
  Use device(seed);
  device.leave_open();
  device.load(Use::Loading::of_libraries);
  accelerator().set_timeout(timeout_s);
  test_device::use_nccl();
  const model::ModelSpec spec = grouped_spec(c.num_stages(), false);
  const model::ParameterTable table(spec);
  comm::run_threads(c.layout.size(), [&](comm::Communicator& world) {
    world.engine().set_timeout(timeout_s);
    Rank rank(c, table, spec, world);
    for (int step = 0; step < 2; ++step) rank.step();
    return 0;
  });
  CHECK(device.loaded() > 0);
}

/// Calls that may wait for all work that a device was given.
struct WaitingCalls {
  std::int64_t memory = 0;       // memory was allocated, freed, pinned or unpinned
  std::int64_t connections = 0;  // see test_device::num_nccl_connections
};

/// Runs three steps on a device whose allocations wait for all work that it was given. Returns the calls
/// after all ranks had prepared the first step.
WaitingCalls calls_of_steps(const Case& c) {
  Use device(1);
  device.leave_open();
  device.load(Use::Loading::of_libraries);
  device.wait_in_allocations();
  accelerator().set_timeout(timeout_s);
  test_device::use_nccl();
  const model::ModelSpec spec = grouped_spec(c.num_stages(), true);
  const model::ParameterTable table(spec);
  WaitingCalls calls;
  comm::run_threads(c.layout.size(), [&](comm::Communicator& world) {
    world.engine().set_timeout(timeout_s);
    Rank rank(c, table, spec, world);
    const auto add = [&](std::int64_t sign) {
      world.barrier().wait_host();
      if (world.rank() == 0) {
        calls.memory += sign * device.counts().memory_calls();
        calls.connections += sign * test_device::num_nccl_connections();
      }
      world.barrier().wait_host();
    };
    rank.prepare();
    add(-1);
    for (int step = 0; step < 3; ++step) rank.step();
    add(1);
    return 0;
  });
  return calls;
}

std::vector<model::Layout> layouts(int pp) {
  using enum PipelineScheduleKind;
  std::vector<model::Layout> all;
  for (const auto& [schedule, virtual_stages] : std::vector<std::pair<PipelineScheduleKind, int>>{
           {gpipe, 1}, {one_f_one_b, 1}, {interleaved, 2}, {zero_bubble, 1}, {zero_bubble, 2}})
    all.push_back(one_block_a_stage({.pp = pp, .schedule = schedule, .virtual_stages = virtual_stages}));
  return all;
}

void check_layouts(int pp) {
  for (const model::Layout& layout : layouts(pp)) {
    INFO(layout.to_string());
    test_device::take_most_nccl_ctas();
    CHECK_NOTHROW(train({layout, pp + 2}, static_cast<std::uint64_t>(pp)));
    // Counts a receive and a send of each payload from and to each neighbour; with two stages on each rank,
    // twice.
    CHECK(test_device::take_most_nccl_ctas() <= 8 * layout.virtual_stages);
  }
}

}  // namespace

TEST_CASE("no pipeline hangs where freeing memory and loading kernels wait for the device", "[test-device]") {
  for (const int pp : {3, 4}) check_layouts(pp);
}

TEST_CASE("nor does one of eight stages", "[test-device][.pipelines-of-8]") {
  check_layouts(8);
}

TEST_CASE("data ranks of a pipeline that divide state go together, also one without a micro-batch",
          "[test-device]") {
  for (const int zero : {1, 2, 3}) {
    for (const int micro_batches : {1, 6}) {
      model::Layout layout = one_block_a_stage({.pp = 3});
      layout.dp = 2;
      layout.zero = zero;
      INFO(layout.to_string() << ", " << micro_batches << " micro-batches");
      CHECK_NOTHROW(train({layout, micro_batches}, 5));
    }
  }
}

TEST_CASE("no pipeline hangs whose ranks share layers in chunks of rows and make activations again",
          "[test-device]") {
  model::Layout layout =
      one_block_a_stage({.pp = 3, .schedule = PipelineScheduleKind::zero_bubble, .virtual_stages = 2});
  layout.tp = 2;
  CHECK_NOTHROW(train({layout, 5, true, 2}, 5));
}

TEST_CASE("from the first on no step of a pipeline allocates or frees memory of a device, or connects ranks",
          "[test-device][slow]") {
  const auto check = [](const Case& c) {
    INFO(c.layout.to_string() << ", " << c.micro_batches << " micro-batches of "
                              << dtype_name(c.precision.compute) << ", sums of "
                              << dtype_name(c.precision.wire()) << (c.recomputes ? ", all again" : "")
                              << (c.saved_activations == model::SavedActivations::matmuls ? ", some again"
                                                                                          : ""));
    WaitingCalls calls{-1, -1};
    CHECK_NOTHROW(calls = calls_of_steps(c));
    CHECK(calls.memory == 0);
    CHECK(calls.connections == 0);
  };
  const Precision bf16{DType::bf16, DType::f32, DType::f32}, bf16_sums{DType::bf16, DType::f32, DType::bf16};
  bool again = false;
  for (const model::Layout& layout : layouts(3)) {
    again = !again;
    check({.layout = layout, .micro_batches = 5, .recomputes = again, .precision = bf16, .grows = false});
    if (layout.virtual_stages == 1)
      check({.layout = layout,
             .micro_batches = 5,
             .saved_activations = model::SavedActivations::matmuls,
             .grows = false});
  }
  const std::array precisions{Precision{}, bf16, bf16_sums};
  std::size_t number = 0;
  for (model::Layout layout : layouts(2)) {
    if (layout.schedule == PipelineScheduleKind::gpipe) continue;
    layout.dp = 2;
    for (const int zero : {0, 1, 2, 3}) {
      layout.zero = zero;
      const int micro_batches = number % 5 == 0 ? 1 : 4;
      const Precision& precision = precisions[number++ % 3];
      check({.layout = layout, .micro_batches = micro_batches, .precision = precision, .grows = false});
    }
  }
  for (const auto& [dp, tp, zero] : {std::array{4, 1, 0}, std::array{3, 1, 2}, std::array{2, 2, 1}}) {
    model::Layout layout = one_block_a_stage({.pp = 2});
    layout.dp = dp, layout.tp = tp, layout.zero = zero;
    check({.layout = layout, .micro_batches = 6, .grows = false});
  }
  for (const int zero : {1, 2}) {  // shards have replicas, whose sums travel in 16 bits
    model::Layout layout = one_block_a_stage({.pp = 2});
    layout.dp = 4, layout.zero = zero, layout.zero_group = 2;
    check({.layout = layout, .micro_batches = 6, .precision = bf16_sums, .grows = false});
  }
}

TEST_CASE("a rank that had no micro-batch in the rehearsal is refused one later", "[test-device]") {
  Use device(1);
  device.leave_open();
  test_device::use_nccl();
  model::Layout layout = one_block_a_stage({.pp = 2});
  layout.dp = 2;
  const Case c{.layout = layout, .micro_batches = 1};
  const model::ModelSpec spec = grouped_spec(c.num_stages(), false);
  const model::ParameterTable table(spec);
  std::atomic<int> num_refused = 0;
  comm::run_threads(layout.size(), [&](comm::Communicator& world) {
    Rank rank(c, table, spec, world);
    rank.prepare();
    try {
      if (rank.is_idle()) rank.prepare_one_more();
    } catch (const Error& error) {
      num_refused += error.message().find("had none when the first step was rehearsed") != std::string::npos;
    }
    world.barrier().wait_host();
    return 0;
  });
  CHECK(num_refused == 2);  // one rank of each stage
}
