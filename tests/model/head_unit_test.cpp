// Tests the head alone: scale and cap of logits, and z-loss.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/numeric/random.hpp"
#include "model/tiny_models.hpp"
#include "support/unit_runner.hpp"
#include "tensor/host_tensor.hpp"

using namespace dt;
using namespace dt::model;
using test::Batch;
using test::OwnedTensor;

namespace {

constexpr double z_loss = 0.3;

std::vector<double> random_values(const char* name, std::int64_t count, double scale) {
  std::vector<double> values(static_cast<std::size_t>(count));
  RandomField(5, name).fill_normal(0, 0, scale, values);
  return values;
}

/// The head of a model, its input, and what it makes of a batch.
struct Head {
  Head(const ModelSpec& spec, DType dtype, double z, std::int64_t sequences = 3, std::int64_t length = 7)
      : batch(Batch::arbitrary(spec, sequences, length)),
        units(make_units(Device::host(), spec, ParameterTable(spec), dtype, SavedActivations::all,
                         single_rank_ops(), z)),
        x(dtype, {rows(), spec.hidden}),
        norm(dtype, {spec.hidden}),
        matrix(dtype, {spec.vocabulary, spec.hidden}),
        dx(dtype, {rows(), spec.hidden}),
        dnorm(statistics_dtype(dtype), {spec.hidden}),
        dmatrix(statistics_dtype(dtype), {spec.vocabulary, spec.hidden}),
        nll(DType::f64, {rows()}),
        terms(DType::f64, {1, rows()}),
        saved(Device::host(), unit().saved_bytes(sequences, length)) {
    test::from_doubles(random_values("x", x.tensor.numel(), 1), x.tensor);
    test::from_doubles(random_values("matrix", matrix.tensor.numel(), 0.6), matrix.tensor);
    test::from_doubles(std::vector<double>(static_cast<std::size_t>(spec.hidden), 1.25), norm.tensor);
  }
  const Unit& unit() const { return *units.back(); }
  std::int64_t rows() const { return batch.sequences * batch.length; }

  /// Runs the head forward and, in training, back. Returns what a step minimizes.
  double run(const Context& context, bool trains, const Tensor& logits_RV = {}) {
    MicroBatch micro_batch = batch.whole();
    micro_batch.auxiliary_AR = terms.tensor;
    micro_batch.logits_RV = logits_RV;
    const std::vector<Tensor> weights{norm.tensor, matrix.tensor}, grads{dnorm.tensor, dmatrix.tensor};
    for (const Tensor& grad : trains ? grads : std::vector<Tensor>())
      std::fill_n(grad.raw(), grad.bytes(), std::byte{0});
    unit().forward(context, micro_batch, weights, x.tensor, nll.tensor, saved.span(),
                   trains ? grads : std::vector<Tensor>());
    if (trains)
      unit().backward_input(context, micro_batch, weights, x.tensor, {}, dx.tensor, saved.span(), {});
    double sum = 0;
    for (std::int64_t r = 0; r < rows(); ++r) {
      sum += nll.tensor.data<double>()[r];
      if (!unit().auxiliary_losses().empty()) sum += z_loss * terms.tensor.data<double>()[r];
    }
    return sum / static_cast<double>(batch.targets());
  }

  Batch batch;
  std::vector<std::unique_ptr<Unit>> units;
  OwnedTensor x, norm, matrix, dx, dnorm, dmatrix, nll, terms;
  Buffer saved;
};

/// Checks a gradient along a random direction.
void check_slope(const Context& context, Head& head, const Tensor& values, const Tensor& gradient) {
  const std::vector<double> start = test::to_doubles(values),
                            direction = random_values("direction", values.numel(), 1);
  const auto objective_at = [&](double step) {
    std::vector<double> moved = start;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
    test::from_doubles(moved, values);
    return head.run(context, false);
  };
  const double h = 1e-3 / std::sqrt(static_cast<double>(start.size()));
  const double numeric =
      (8 * (objective_at(h) - objective_at(-h)) - (objective_at(2 * h) - objective_at(-2 * h))) / (12 * h);
  test::from_doubles(start, values);
  double analytic = 0;
  for (std::size_t i = 0; i < start.size(); ++i) analytic += test::to_doubles(gradient)[i] * direction[i];
  CHECK(std::abs(numeric - analytic) < 1e-9 + 1e-8 * std::abs(analytic));
}

}  // namespace

TEST_CASE("the head's gradients with scale, cap and z-loss are the slopes of what a step minimizes") {
  const Context context(1, Device::host());
  for (const bool is_capped : {false, true}) {
    for (const double z : {0.0, z_loss}) {
      const ModelSpec spec = is_capped ? test::tiny_capped_logits() : test::tiny_llama(false, true);
      Head head(spec, DType::f64, z);
      CAPTURE(is_capped, z);
      head.run(context, true);
      check_slope(context, head, head.x.tensor, head.dx.tensor);
      check_slope(context, head, head.matrix.tensor, head.dmatrix.tensor);
    }
  }
}

TEST_CASE("the loss and kept logits are of scaled and capped logits; z-loss changes neither") {
  const Context context(1, Device::host());
  const ModelSpec plain = test::tiny_llama(false, true);
  const ModelSpec capped = test::tiny_capped_logits();
  for (const DType dtype : {DType::f64, DType::f32}) {
    Head without(plain, dtype, 0), head(capped, dtype, 0), with_z(capped, dtype, z_loss);
    const Shape shape{head.rows(), plain.vocabulary};
    const OwnedTensor products(dtype, shape), logits(dtype, shape);
    without.run(context, false, products.tensor);
    head.run(context, false, logits.tensor);
    const std::vector<double> x = test::to_doubles(products.tensor), y = test::to_doubles(logits.tensor);
    const double cap = *capped.logit_softcap;
    for (std::size_t i = 0; i < x.size(); ++i)
      REQUIRE(y[i] == Approx(cap * std::tanh(capped.logit_scale * x[i] / cap)).epsilon(1e-5));

    head.run(context, true), with_z.run(context, true);
    CHECK(test::to_doubles(head.nll.tensor) == test::to_doubles(with_z.nll.tensor));
    CHECK(test::to_doubles(head.dx.tensor) != test::to_doubles(with_z.dx.tensor));
    const auto vocabulary = static_cast<std::size_t>(plain.vocabulary);
    for (std::size_t r = 0; r < static_cast<std::size_t>(head.rows()); ++r) {
      double sum = 0;
      for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(y[r * vocabulary + v]);
      const bool is_target = head.batch.labels[r] >= 0;
      const double lse = std::log(sum);
      CHECK(with_z.terms.tensor.data<double>()[r] == Approx(is_target ? lse * lse : 0).epsilon(1e-5));
      CHECK(head.nll.tensor.data<double>()[r] ==
            Approx(is_target ? lse - y[r * vocabulary + static_cast<std::size_t>(head.batch.labels[r])] : 0)
                .epsilon(1e-5));
    }
  }
}

TEST_CASE("threads change no bit of capped logits' gradients; rows are processed in chunks") {
  ModelSpec spec = test::tiny_capped_logits();
  spec.vocabulary = 15000;  // logits of some thousand rows at a time
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2}) {
    const Context context(threads, Device::host());
    Head head(spec, DType::f32, z_loss, 150, 8);
    head.run(context, true);
    for (const OwnedTensor* tensor : {&head.dx, &head.dmatrix, &head.nll, &head.terms})
      found.push_back(test::to_doubles(tensor->tensor));
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == found[4 + i]);
  CHECK(std::ranges::all_of(found[3], [](double term) { return std::isfinite(term); }));
}

TEST_CASE("the head has z-loss as an auxiliary loss of targets, if a coefficient asks for it") {
  const ModelSpec spec = test::tiny_llama(false, true);
  Head without(spec, DType::f32, 0), with(spec, DType::f32, z_loss);
  CHECK(without.unit().auxiliary_losses().empty());
  CHECK(with.unit().auxiliary_losses() == std::vector{AuxiliaryLoss{"z_loss", z_loss, true}});
  CHECK(with.unit().scratch_bytes(Device::host(), 3, 7) -
            without.unit().scratch_bytes(Device::host(), 3, 7) ==
        3 * 7 * sizeof(double));
}
