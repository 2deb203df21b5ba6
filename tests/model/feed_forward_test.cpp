#include "model/layers/feed_forward.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/numeric/random.hpp"
#include "model/flops.hpp"
#include "model/tiny_models.hpp"
#include "support/toy_feed_forward.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::Decoder;
using test::Flight;

namespace {

/// Returns a model whose first layer is a toy and whose second is a gated MLP.
ModelSpec mixed_spec() {
  ModelSpec s = test::tiny_llama(true, true);
  s.feed_forward = PerLayer<const FeedForwardKind*>(std::vector{&test::toy_kind(), &swiglu_mlp()});
  return s;
}

void scatter_weights(const Decoder& decoder) {
  for (std::size_t p = 0; p < decoder.table().params().size(); ++p) {
    const ParamSpec& param = decoder.table().params()[p];
    std::vector<double> values(static_cast<std::size_t>(param.shape.numel()));
    RandomField(3, param.name).fill_normal(0, param.init.kind == Init::Kind::ones ? 1.0 : 0.0, 0.3, values);
    test::from_doubles(values, decoder.weight(static_cast<int>(p)));
  }
}

/// Runs a batch forward and back, and returns what a step minimizes. Gradients are added to the
/// decoder's.
double run(const Context& context, const Decoder& decoder, Batch& batch, bool recomputes = false) {
  const std::int64_t rows = batch.sequences * batch.length;
  const test::OwnedTensor terms(DType::f64, {1, rows});
  MicroBatch micro_batch = batch.whole();
  micro_batch.auxiliary_scale = 1.0 / static_cast<double>(rows);
  micro_batch.auxiliary_AR = terms.tensor;
  Flight flight(decoder, micro_batch);
  flight.forward(context);
  if (recomputes) flight.recompute(context, 1);
  flight.backward(context);
  double sum = 0;
  for (const double term : test::to_doubles(terms.tensor)) sum += term;
  CHECK(sum > 0);
  return flight.loss_sum() / static_cast<double>(batch.targets()) +
         test::toy_coefficient * sum / static_cast<double>(rows);
}

std::vector<std::vector<double>> gradients(const Decoder& decoder) {
  std::vector<std::vector<double>> all;
  for (std::size_t p = 0; p < decoder.table().params().size(); ++p)
    all.push_back(test::to_doubles(decoder.grad(static_cast<int>(p))));
  return all;
}

}  // namespace

TEST_CASE(
    "a kind that no source file knows trains: its gradients are the slopes of loss and auxiliary loss") {
  const Context context(1, Device::host());
  const ModelSpec spec = mixed_spec();
  Decoder decoder(spec, DType::f64);
  scatter_weights(decoder);
  Batch batch = Batch::arbitrary(spec, 2, 9);
  decoder.zero_grads();
  run(context, decoder, batch);
  const auto grads = gradients(decoder);
  for (std::size_t p = 0; p < grads.size(); ++p) {
    const Tensor& weight = decoder.weight(static_cast<int>(p));
    const std::vector<double> start = test::to_doubles(weight);
    std::vector<double> direction(start.size());
    RandomField(5, decoder.table().params()[p].name).fill_normal(0, 0, 1, direction);
    const auto objective_at = [&](double step) {
      std::vector<double> moved = start;
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
      test::from_doubles(moved, weight);
      return run(context, decoder, batch);
    };
    // The second derivative of relu² jumps, so the error is of the step's second order.
    const double h = 1e-5 / std::sqrt(static_cast<double>(start.size()));
    const double numeric = (objective_at(h) - objective_at(-h)) / (2 * h);
    test::from_doubles(start, weight);
    double analytic = 0;
    for (std::size_t i = 0; i < start.size(); ++i) analytic += grads[p][i] * direction[i];
    INFO(decoder.table().params()[p].name);
    CHECK(std::abs(numeric - analytic) < 1e-7 + 1e-6 * std::abs(analytic));
  }
}

TEST_CASE("a kind's layer gives the same bits where the backward recomputes it or its activations") {
  const Context context(1, Device::host());
  const ModelSpec spec = mixed_spec();
  Batch batch = Batch::arbitrary(spec, 2, 7);
  std::vector<std::vector<std::vector<double>>> found;
  for (const SavedActivations saved : {SavedActivations::all, SavedActivations::matmuls}) {
    for (const bool recomputes : {false, true}) {
      Decoder decoder(spec, DType::f32, saved);
      scatter_weights(decoder);
      decoder.zero_grads();
      run(context, decoder, batch, recomputes);
      found.push_back(gradients(decoder));
      CHECK(found.back() == found.front());
    }
  }
}

TEST_CASE("parameters, FLOPs and auxiliary losses of a model are those of each layer's kind") {
  const ModelSpec spec = mixed_spec();
  const ParameterTable table(spec);
  CHECK(table.find("layers.0.toy.scale") >= 0);
  CHECK(table.find("layers.0.mlp.up.weight") < 0);
  CHECK(table.find("layers.1.mlp.gate.weight") >= 0);
  CHECK_FALSE(table.params()[static_cast<std::size_t>(table.find("layers.0.toy.scale"))].decays);
  CHECK_FALSE(spec.feed_forward.is_uniform());
  ModelSpec plain = spec;
  plain.feed_forward = &swiglu_mlp();
  const auto mixed = unit_flops_per_token(spec, 9), gated = unit_flops_per_token(plain, 9);
  CHECK(gated[1].backward_weight - mixed[1].backward_weight ==
        2.0 * static_cast<double>(spec.hidden * spec.mlp_hidden));
  CHECK(gated[2].backward_weight == mixed[2].backward_weight);
  const auto units = make_units(Device::host(), spec, table, DType::f32);
  CHECK(auxiliary_losses(make_units(Device::host(), plain, ParameterTable(plain), DType::f32)).empty());
  CHECK(auxiliary_losses(units) == std::vector{AuxiliaryLoss{"toy_squares", test::toy_coefficient}});
  CHECK(units[1]->auxiliary_losses().size() == 1);
  CHECK(units[2]->auxiliary_losses().empty());

  plain.feed_forward = PerLayer<const FeedForwardKind*>(std::vector(2, &gelu_mlp()));
  CHECK(plain.feed_forward.is_uniform());
  CHECK(plain.feed_forward == PerLayer<const FeedForwardKind*>(&gelu_mlp()));
  plain.feed_forward = spec.feed_forward;
  plain.layers = 3;
  CHECK_THROWS_AS(ParameterTable(plain), Error);
}
