#include "parallel/engine/executor.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/executor_rig.hpp"
#include "parallel/one_rank.hpp"
#include "parallel/schedule/activation_peak.hpp"
#include "support/unit_runner.hpp"
#include "support/whole_layout.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

model::ModelSpec tiny(bool tied) {
  model::ModelSpec spec = model::load_model_spec("llama-tiny");
  spec.tied = tied;
  return spec;
}

double relative_difference(const Tensor& a, const Tensor& b) {
  double difference = 0, norm = 1e-30;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    difference += std::pow(double(a.data<float>()[i]) - double(b.data<float>()[i]), 2);
    norm += std::pow(double(b.data<float>()[i]), 2);
  }
  return std::sqrt(difference / norm);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::equal(a.raw(), a.raw() + a.bytes(), b.raw());
}

}  // namespace

TEST_CASE("the executor's gradients are those of running the units by hand") {
  for (bool tied : {false, true}) {
    for (std::int64_t lanes : {1, 3, 4}) {
      Rig rig(tiny(tied), 4, lanes);
      auto batch = test::Batch::arbitrary(rig.spec, 4, 9);
      rig.executor.run(build_training_step({.num_units = rig.num_units(), .num_micro_batches = 4}),
                       split(batch), 0, no_hooks());

      test::Decoder decoder(rig.spec, DType::f32);
      decoder.initialise(7);
      decoder.zero_grads();
      test::Flight flight(decoder, batch.whole());
      flight.forward(rig.context);
      flight.backward(rig.context);
      for (std::size_t p = 0; p < rig.table.params().size(); ++p) {
        INFO(rig.table.params()[p].name << (tied ? " tied" : "") << " lanes " << lanes);
        CHECK(relative_difference(rig.gradient(static_cast<int>(p)), decoder.grad(static_cast<int>(p))) <
              2e-5);
      }
    }
  }
}

TEST_CASE("the walk of a list finds the memory that running it takes") {
  for (const bool recompute : {false, true}) {
    Rig rig(tiny(false), 3, 1);
    auto batch = test::Batch::arbitrary(rig.spec, 3, 8);
    const auto list =
        build_training_step({.num_units = rig.num_units(), .num_micro_batches = 3, .recompute = recompute});
    rig.executor.run(list, split(batch), 0, no_hooks());
    std::vector<UnitBytes> bytes;
    for (const auto& unit : rig.units) {
      const std::int64_t output =
          unit->output_shape(1, 8).numel() * static_cast<std::int64_t>(dtype_bytes(unit->output_dtype()));
      bytes.push_back({output, static_cast<std::int64_t>(unit->saved_bytes(1, 8)),
                       static_cast<std::int64_t>(unit->backward_handoff_bytes(Device::host(), 1, 8))});
    }
    const auto held = static_cast<double>(activation_peak_bytes(list, bytes));
    const auto pool = static_cast<double>(rig.executor.activation_bytes());
    CHECK(held <= pool);
    CHECK(held >= 0.95 * pool);  // buffers of one kind do not serve for another
  }
}

TEST_CASE("a second step over the same buffers gives the same bits") {
  Rig rig(tiny(true), 3, 2);
  auto batch = test::Batch::arbitrary(rig.spec, 3, 8);
  const auto list = build_training_step({.num_units = rig.num_units(), .num_micro_batches = 3});
  rig.executor.run(list, split(batch), 0, no_hooks());
  const Tensor flat = rig.storage.group_gradient(0);
  const std::vector<std::byte> first(flat.raw(), flat.raw() + flat.bytes());
  const std::size_t pool = rig.executor.activation_bytes();
  rig.executor.run(list, split(batch), 0, no_hooks());
  const Tensor again = rig.storage.group_gradient(0);
  CHECK(std::equal(first.begin(), first.end(), again.raw()));
  CHECK(rig.executor.activation_bytes() == pool);
}

TEST_CASE("any valid order of the same micro-batches gives the same bits") {
  using enum ActionKind;
  Rig depth_first(tiny(true), 2, 2), breadth_first(tiny(true), 2, 2);
  const int units = static_cast<int>(depth_first.units.size());
  auto batch = test::Batch::arbitrary(depth_first.spec, 2, 8);
  depth_first.executor.run(build_training_step({.num_units = units, .num_micro_batches = 2}), split(batch), 0,
                           no_hooks());

  ActionList list;  // GPipe's order, with every weight half put off to the end
  for (int m : {0, 1})
    for (int u = 0; u < units; ++u) list.push_back({forward, u, m});
  for (int m : {0, 1})
    for (int u = units - 1; u >= 0; --u) list.push_back({backward_input, u, m});
  for (int u = 0; u < units; ++u) {
    for (int m : {0, 1}) list.push_back({backward_weight, u, m});
    list.push_back({reduce, u});
  }
  list.push_back({control});
  list.push_back({step});
  breadth_first.executor.run(list, split(batch), 0, no_hooks());
  for (int group = 0; group < depth_first.storage.num_groups(); ++group) {
    CHECK(same_bits(depth_first.storage.group_gradient(group), breadth_first.storage.group_gradient(group)));
  }
}

TEST_CASE("blocks computed again give the same bits, from a smaller pool") {
  model::ModelSpec spec = tiny(true);
  spec.layers = 5;
  Rig kept(spec, 3, 2), recomputed(spec, 3, 2);
  const int units = static_cast<int>(kept.units.size());
  auto batch = test::Batch::arbitrary(spec, 3, 8);
  kept.executor.run(build_training_step({.num_units = units, .num_micro_batches = 3}), split(batch), 0,
                    no_hooks());
  const ActionList list =
      build_training_step({.num_units = units, .num_micro_batches = 3, .recompute = true});
  for (int step = 0; step < 2; ++step) recomputed.executor.run(list, split(batch), 0, no_hooks());
  for (int group = 0; group < kept.storage.num_groups(); ++group) {
    CHECK(same_bits(kept.storage.group_gradient(group), recomputed.storage.group_gradient(group)));
  }
  CHECK(recomputed.executor.activation_bytes() < kept.executor.activation_bytes() / 2);
}

TEST_CASE("smaller micro-batches make do with the pool of larger ones, to the same bits") {
  Rig rig(tiny(true), 1, 1), fresh(tiny(true), 1, 1);
  auto batch = test::Batch::arbitrary(rig.spec, 5, 8);
  const StepShape shape{.num_units = rig.num_units(), .num_micro_batches = 1};
  const auto losses = [&](Rig& of, std::int64_t begin, std::int64_t end) {
    std::vector<double> nll;
    StepHooks hooks = no_hooks();
    hooks.loss = [&](int, const Tensor& nll_R) {
      const auto values = nll_R.span<double>();
      nll.assign(values.begin(), values.end());
    };
    of.executor.run(build_evaluation(shape), std::vector{batch.micro_batch(begin, end)}, 0, hooks);
    return nll;
  };
  rig.executor.run(build_training_step(shape), std::vector{batch.micro_batch(0, 3)}, 0, no_hooks());
  const std::size_t pool = rig.executor.activation_bytes();
  CHECK(losses(rig, 0, 3) == losses(fresh, 0, 3));
  CHECK(losses(rig, 3, 5) == losses(fresh, 3, 5));
  CHECK(losses(rig, 4, 5) == losses(fresh, 4, 5));
  CHECK(rig.executor.activation_bytes() == pool);
  CHECK(losses(rig, 0, 5) == losses(fresh, 0, 5));  // a larger pool is allocated anew
  CHECK(rig.executor.activation_bytes() == fresh.executor.activation_bytes());
}

TEST_CASE("16-bit weights are rounded from their masters") {
  const model::ModelSpec spec = tiny(true);
  const model::ParameterTable table(spec);
  const LanePlan plan(1, 1);
  const Context context(1, Device::host());
  const LocalTable local(table, {}, {});
  const Groups alone;
  ModelStorage storage(context.device(), local, {.compute = DType::bf16, .gradient = DType::f32}, &plan,
                       alone, {"m", "v"});
  const LocalParam& param = local.param(0);
  storage.set_weights(context, param, [](const Piece&, const Tensor& values) {
    CHECK(values.dtype() == DType::f32);
    for (float& value : values.span<float>()) value = 1.00390625f;  // halfway between two bf16
  });
  CHECK(param.view_in_shard(storage.group_masters(param.group)).data<float>()[0] == 1.00390625f);
  CHECK(static_cast<float>(storage.weights().unit_weights(context, 0)[0].data<BFloat16>()[0]) == 1.0f);
  const StorageBytes bytes = ModelStorage::estimate(local, storage.precision(), &plan, storage.state_kinds());
  CHECK(bytes.optimizer == 6 * bytes.weights);
  CHECK(bytes.checkpoint == 6 * bytes.weights);
}

TEST_CASE("an evaluation list gives each micro-batch's loss and keeps nothing") {
  Rig rig(tiny(false), 2, 1);
  auto batch = test::Batch::arbitrary(rig.spec, 2, 8);
  std::map<int, double> loss;
  StepHooks hooks = no_hooks();
  hooks.loss = [&](int m, const Tensor& nll_R) {
    for (double nll : nll_R.span<double>()) loss[m] += nll;
  };
  const auto micro_batches = split(batch);
  rig.executor.run(build_evaluation({.num_units = rig.num_units(), .num_micro_batches = 2}), micro_batches, 0,
                   hooks);
  test::Decoder decoder(rig.spec, DType::f32);
  decoder.initialise(7);
  for (int m : {0, 1}) {
    test::Flight flight(decoder, micro_batches[static_cast<std::size_t>(m)]);
    flight.forward(rig.context);
    CHECK(loss[m] == Approx(flight.loss_sum()).epsilon(1e-12));
  }
}

TEST_CASE("the estimate is what the storage allocates") {
  const model::ModelSpec spec = tiny(true);
  const model::ParameterTable table(spec);
  const LanePlan plan(8, 4);
  const std::vector<StateKind> two_kinds{"m", "v"};
  const StorageBytes bytes = ModelStorage::estimate(LocalTable(table, {}, {}), Precision{}, &plan, two_kinds);
  std::int64_t flat = 0, held = 0;
  for (const model::GroupSpec& group : table.groups()) {
    const std::int64_t numel = dt_test::whole_layout(table, group).numel;
    flat += numel;
    held += numel * static_cast<std::int64_t>(group.units.size());
  }
  CHECK(bytes.weights == static_cast<std::size_t>(flat) * 4);
  CHECK(bytes.optimizer == static_cast<std::size_t>(flat) * 8);
  CHECK(bytes.gradients == static_cast<std::size_t>(held) * 4 * 3);
}
