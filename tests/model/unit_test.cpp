#include "model/units/unit.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <random>

#include "base/numeric/random.hpp"
#include "model/tiny_models.hpp"
#include "support/unit_runner.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::Decoder;
using test::every_kind;
using test::Flight;
using test::OutputGradients;
using test::tiny_llama;
using test::tiny_windowed_qwen2;

namespace {

/// Sets weights that are all significant: norms scatter about one, biases about zero, and nothing
/// is small.
void scatter_weights(const Decoder& decoder, std::uint64_t seed) {
  for (std::size_t p = 0; p < decoder.table().params().size(); ++p) {
    const ParamSpec& param = decoder.table().params()[p];
    const RandomField field(seed, param.name);
    std::vector<double> values(static_cast<std::size_t>(param.shape.numel()));
    field.fill_normal(0, param.init.kind == Init::Kind::ones ? 1.0 : 0.0, 0.3, values);
    test::from_doubles(values, decoder.weight(static_cast<int>(p)));
  }
}

double mean_loss(const Context& context, const Decoder& decoder, Batch& batch) {
  Flight flight(decoder, batch.whole());
  flight.forward(context);
  return flight.loss_sum() / static_cast<double>(batch.targets());
}

std::vector<std::vector<double>> gradients(const Decoder& decoder) {
  std::vector<std::vector<double>> all;
  for (std::size_t p = 0; p < decoder.table().params().size(); ++p)
    all.push_back(test::to_doubles(decoder.grad(static_cast<int>(p))));
  return all;
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares);
}

/// Returns the sum of the gradients of micro-batches of `size` sequences.
std::vector<std::vector<double>> gradients_by_micro_batch(const Context& context, Decoder& decoder,
                                                          Batch& batch, std::int64_t size) {
  decoder.zero_grads();
  for (std::int64_t b = 0; b < batch.sequences; b += size) {
    Flight flight(decoder, batch.micro_batch(b, std::min(b + size, batch.sequences)));
    flight.forward(context);
    flight.backward(context);
  }
  return gradients(decoder);
}

/// Runs every pass of micro-batches through units. `seed` chooses an order among those that units
/// allow: the head's forwards and each unit's weight halves run in the order of micro-batches.
class SomeOrder {
 public:
  SomeOrder(std::vector<Flight>& flights, std::uint64_t seed)
      : flights_(flights),
        units_(flights.front().num_units()),
        passes_done_(flights.size()),
        weights_done_(units_),
        random_(seed) {}

  void run(const Context& context) {
    while (true) {
      std::vector<std::function<void()>> next;
      for (std::size_t f = 0; f < flights_.size(); ++f) {
        if (may_pass(f)) next.emplace_back([&, f] { pass(context, f); });
      }
      for (std::size_t u = 0; u < units_; ++u) {
        if (may_weigh(u))
          next.emplace_back([&, u] { flights_[weights_done_[u]++].backward_weight(context, u); });
      }
      if (next.empty()) return;
      next[random_() % next.size()]();
    }
  }

 private:
  /// Returns whether micro-batch f may make its next pass. A micro-batch passes through all units
  /// forward, then back.
  bool may_pass(std::size_t f) const {
    const bool is_at_head = passes_done_[f] == units_ - 1;
    return passes_done_[f] < 2 * units_ && (!is_at_head || f == 0 || passes_done_[f - 1] >= units_);
  }
  void pass(const Context& context, std::size_t f) {
    const std::size_t done = passes_done_[f]++;
    if (done < units_) return flights_[f].forward(context, done);
    flights_[f].backward_input(context, 2 * units_ - 1 - done);
    flights_[f].overwrite_dead(2 * units_ - 1 - done);
  }
  bool may_weigh(std::size_t u) const {
    const std::size_t f = weights_done_[u];
    return f < flights_.size() && passes_done_[f] >= 2 * units_ - u;
  }

  std::vector<Flight>& flights_;
  std::size_t units_;
  std::vector<std::size_t> passes_done_, weights_done_;  // by micro-batch; by unit
  std::mt19937_64 random_;
};

/// Checks that the batch gives the same gradients when cut into micro-batches of `a` sequences or
/// of `b`.
void check_same_gradients(const Context& context, Decoder& decoder, Batch& batch, std::int64_t a,
                          std::int64_t b, double tolerance) {
  const auto whole = gradients_by_micro_batch(context, decoder, batch, a);
  const auto split = gradients_by_micro_batch(context, decoder, batch, b);
  double global = 0;
  for (const auto& g : whole) global = std::hypot(global, norm(g));
  for (std::size_t p = 0; p < whole.size(); ++p) {
    std::vector<double> difference = whole[p];
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= split[p][i];
    INFO(decoder.spec().family << " " << decoder.table().params()[p].name);
    CHECK(norm(difference) <= tolerance * std::max(norm(whole[p]), 1e-2 * global));
  }
}

}  // namespace

TEST_CASE("gradients of every parameter are the slopes of the loss") {
  Context context(1, Device::host());
  for (const ModelSpec& spec : every_kind()) {
    Decoder decoder(spec, DType::f64);
    scatter_weights(decoder, 3);
    Batch batch = Batch::arbitrary(spec, 2, 9);
    const auto grads = gradients_by_micro_batch(context, decoder, batch, batch.sequences);

    for (std::size_t p = 0; p < grads.size(); ++p) {
      const Tensor& weight = decoder.weight(static_cast<int>(p));
      const std::vector<double> start = test::to_doubles(weight);
      std::vector<double> direction(start.size());
      RandomField(5, decoder.table().params()[p].name).fill_normal(0, 0, 1, direction);
      const auto loss_at = [&](double step) {
        std::vector<double> moved = start;
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
        test::from_doubles(moved, weight);
        return mean_loss(context, decoder, batch);
      };
      // A fourth-order difference has an error far below the gradient's own size.
      const double h = 1e-3 / std::sqrt(static_cast<double>(start.size()));
      const double numeric = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
      test::from_doubles(start, weight);
      double analytic = 0;
      for (std::size_t i = 0; i < start.size(); ++i) analytic += grads[p][i] * direction[i];
      INFO(spec.family << " " << decoder.table().params()[p].name);
      CHECK(std::abs(numeric - analytic) < 1e-9 + 1e-8 * std::abs(analytic));
    }
  }
}

TEST_CASE("splitting a batch into micro-batches gives the same loss and gradients") {
  for (const auto& [dtype, tolerance] : {std::pair(DType::f64, 1e-13), std::pair(DType::f32, 3e-6)}) {
    for (const bool reference : {false, true}) {
      Context context(2, Device::host());
      context.set_reference_only(reference);
      for (const ModelSpec& spec : every_kind()) {
        Decoder decoder(spec, dtype);
        scatter_weights(decoder, 4);
        Batch batch = Batch::arbitrary(spec, 5, 8);
        check_same_gradients(context, decoder, batch, 5, 2, tolerance);
      }
    }
  }
}

TEST_CASE("a micro-batch longer than what is computed at a time gives the gradients of its parts") {
  Context context(2, Device::host());
  std::vector<ModelSpec> specs = every_kind();
  specs.push_back(specs.front());
  specs.back().vocabulary = 15000;  // logits of some hundred rows at a time
  for (const ModelSpec& spec : specs) {
    Decoder decoder(spec, DType::f32);
    scatter_weights(decoder, 4);
    Batch batch = Batch::arbitrary(spec, 150, 8);  // 1,200 rows
    check_same_gradients(context, decoder, batch, 150, 50, 1e-5);
  }
}

TEST_CASE("micro-batches under way at once give the bits of one after the other, in less memory") {
  Context context(2, Device::host());
  for (const ModelSpec& spec : every_kind()) {
    Batch batch = Batch::arbitrary(spec, 6, 7);
    for (const SavedActivations saved : {SavedActivations::all, SavedActivations::matmuls}) {
      Decoder decoder(spec, DType::f32, saved);
      scatter_weights(decoder, 6);
      const auto sequential = gradients_by_micro_batch(context, decoder, batch, 2);
      for (const auto where : {OutputGradients::apart, OutputGradients::over_outputs}) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
          decoder.zero_grads();
          std::vector<Flight> flights;
          for (std::int64_t b = 0; b < 6; b += 2)
            flights.emplace_back(decoder, batch.micro_batch(b, b + 2), where);
          SomeOrder(flights, seed).run(context);
          // A tied table's gradient adds two units' gradients in another order here. All others are
          // equal to the bit.
          auto interleaved = gradients(decoder);
          if (spec.tied) interleaved[0] = sequential[0];
          CHECK(interleaved == sequential);
        }
      }
    }
  }
}

TEST_CASE("a block computed again from its input gives the same bits") {
  Context context(1, Device::host());
  const ModelSpec spec = tiny_llama(true, true);
  Decoder decoder(spec, DType::f32);
  scatter_weights(decoder, 8);
  Batch batch = Batch::arbitrary(spec, 2, 7);
  const auto once = gradients_by_micro_batch(context, decoder, batch, 2);

  decoder.zero_grads();
  Flight flight(decoder, batch.whole());
  flight.forward(context);
  for (std::size_t u = flight.num_units(); u-- > 0;) {
    flight.backward_input(context, u);  // overwrites what forward saved
    const bool is_block = decoder.units()[u]->spec().kind == UnitKind::block;
    if (is_block) flight.recompute(context, u);
    if (is_block) flight.backward_input(context, u);
    flight.backward_weight(context, u);
  }
  CHECK(gradients(decoder) == once);
}

TEST_CASE("positions are the micro-batch's, not the rows'") {
  Context context(1, Device::host());
  for (const ModelSpec& spec : every_kind()) {
    Decoder decoder(spec, DType::f64);
    scatter_weights(decoder, 9);
    Batch batch = Batch::arbitrary(spec, 1, 6);
    const double usual = mean_loss(context, decoder, batch);
    std::swap(batch.positions[1], batch.positions[4]);
    CHECK(std::abs(mean_loss(context, decoder, batch) - usual) > 1e-6);
  }
}

TEST_CASE("a fresh model predicts nothing: its loss is near the logarithm of the vocabulary") {
  Context context(2, Device::host());
  const ModelSpec spec = load_model_spec("llama-tiny");
  Decoder decoder(spec, DType::f32);
  decoder.initialise(1);
  Batch batch = Batch::arbitrary(spec, 2, 64);
  CHECK(mean_loss(context, decoder, batch) ==
        Approx(std::log(static_cast<double>(spec.vocabulary))).epsilon(0.02));
}

TEST_CASE("a block that keeps only matmuls gives the same bits, with less memory") {
  Context context(2, Device::host());
  for (const ModelSpec& spec : every_kind()) {
    Batch batch = Batch::arbitrary(spec, 3, 7);
    std::vector<std::vector<std::vector<double>>> found;
    for (const SavedActivations saved : {SavedActivations::all, SavedActivations::matmuls}) {
      Decoder decoder(spec, DType::f32, saved);
      scatter_weights(decoder, 8);
      found.push_back(gradients_by_micro_batch(context, decoder, batch, 2));
    }
    CHECK(found[0] == found[1]);
    const ParameterTable table(spec);
    const auto all = make_units(Device::host(), spec, table, DType::f32, SavedActivations::all);
    const auto less = make_units(Device::host(), spec, table, DType::f32, SavedActivations::matmuls);
    CHECK(less[1]->saved_bytes(3, 7) < all[1]->saved_bytes(3, 7));
  }
}

TEST_CASE("a token sees nothing before its micro-batch's first_R, with a window and without") {
  Context context(1, Device::host());
  for (const ModelSpec& spec : {tiny_llama(false, true), tiny_windowed_qwen2()}) {
    Decoder decoder(spec, DType::f64);
    scatter_weights(decoder, 8);
    Batch both = Batch::arbitrary(spec, 1, 9);
    std::vector<std::int32_t> starts{0, 0, 0, 0, 4, 4, 4, 4, 4};
    MicroBatch micro_batch = both.whole();
    micro_batch.first_R = host_tensor(starts);
    Flight packed(decoder, micro_batch);

    // Rotary scores depend only on distances, so a sequence gives the same logits wherever it
    // starts.
    Batch second(1, 5, {both.tokens.begin() + 4, both.tokens.end()},
                 {both.labels.begin() + 4, both.labels.end()});
    Flight alone(decoder, second.whole());
    const std::vector<double> whole = test::to_doubles(packed.logits(context));
    const std::vector<double> tail(whole.begin() + 4 * spec.vocabulary, whole.end());
    const std::vector<double> expected = test::to_doubles(alone.logits(context));
    std::vector<double> difference = expected;
    for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= tail[i];
    CHECK(norm(difference) < 1e-12 * norm(expected));
    Flight unmasked(decoder, both.whole());
    CHECK(test::to_doubles(unmasked.logits(context)) != whole);
  }
}
