#include "kernels/optimizer_step.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

/// One step of each optimizer, which tests repeat.
const std::vector<OptimizerStep> all_steps = {
    {.settings = {.kind = OptimizerKind::adamw}, .lr = 1e-3, .step = 1, .grad_scale = 0.5},
    {.settings = {.kind = OptimizerKind::sgd}, .lr = 1e-2, .step = 1, .grad_scale = 0.5},
    {.settings = {.kind = OptimizerKind::sgd, .momentum = 0.9}, .lr = 1e-2, .step = 1, .grad_scale = 0.5},
    {.settings = {.kind = OptimizerKind::sgd, .momentum = 0.9, .nesterov = true},
     .lr = 1e-2,
     .step = 1,
     .grad_scale = 0.5},
    {.settings = {.kind = OptimizerKind::lion}, .lr = 1e-3, .step = 1, .grad_scale = 0.5}};

/// Returns as many states as the step takes, with values that `make` returns for the k-th.
template <class Make>
std::vector<Tensor> states_of(const OptimizerStep& step, const Make& make) {
  std::vector<Tensor> states;
  for (int k = 0; k < num_optimizer_states(step.settings); ++k)
    states.push_back(make(static_cast<std::uint64_t>(k)));
  return states;
}

std::vector<Tensor> joined(std::vector<Tensor> tensors, const std::vector<Tensor>& others) {
  tensors.insert(tensors.end(), others.begin(), others.end());
  return tensors;
}

TEST_CASE(
    "the first AdamW step moves by lr against the gradient's sign and decays the weight apart from it") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor w = f.values({2}, {1, -2}), g = f.values({2}, {0.5, -0.25}), m = f.values({2}, {0, 0});
    const Tensor v = f.values({2}, {0, 0});
    const OptimizerStep step{.settings = {.weight_decay = 0.5, .beta1 = 0.9, .beta2 = 0.99, .eps = 0},
                             .lr = 0.1,
                             .step = 1,
                             .grad_scale = 2};
    optimizer_step(context, step, w, g, std::array{m, v}, Tensor());
    CHECK(to_doubles(w)[0] == Approx(1 - 0.1 * 0.5 * 1 - 0.1));
    CHECK(to_doubles(w)[1] == Approx(-2 + 0.1 * 0.5 * 2 + 0.1));
    CHECK(to_doubles(m)[0] == Approx(0.1));  // (1 − β₁) · 0.5 · 2
    CHECK(to_doubles(v)[1] == Approx(0.01 * 0.25));
  }
}

TEST_CASE("a later AdamW step corrects both moments for their start at zero") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor w = f.values({1}, {1}), g = f.values({1}, {3}), m = f.values({1}, {0.2}),
                 v = f.values({1}, {0.04});
    const OptimizerStep step{.settings = {.weight_decay = 0, .beta1 = 0.9, .beta2 = 0.99, .eps = 0.1},
                             .lr = 0.01,
                             .step = 3,
                             .grad_scale = 1};
    optimizer_step(context, step, w, g, std::array{m, v}, Tensor());
    const double m_hat = (0.9 * 0.2 + 0.1 * 3) / (1 - 0.9 * 0.9 * 0.9);
    const double v_hat = (0.99 * 0.04 + 0.01 * 9) / (1 - 0.99 * 0.99 * 0.99);
    CHECK(to_doubles(w)[0] == Approx(1 - 0.01 * m_hat / (std::sqrt(v_hat) + 0.1)));
  }
}

TEST_CASE("fast updates agree with their references over many steps", "[device]") {
  for (const OptimizerStep& first : all_steps) {
    for (const std::int64_t count : {1, 15, 16, 17, 1000, 17411}) {
      INFO(name_of(first.settings.kind) << ", count " << count);
      for (const bool wide_gradient : {false, true}) {
        const Case run = [=](Fixture& f) -> std::vector<Tensor> {
          const Tensor w = f.wide_random({count}, 1);
          const auto states = states_of(first, [&](auto) { return f.wide_random({count}, 0, 0); });
          const Tensor rounded = f.output({count});
          const Tensor copy = dtype_bytes(rounded.dtype()) == 2 ? rounded : Tensor();
          OptimizerStep step = first;
          for (; step.step <= 3; ++step.step) {
            const Tensor g =
                f.random_gradient({count}, 10 + static_cast<std::uint64_t>(step.step), wide_gradient);
            optimizer_step(f.context, step, w, g, states, copy);
          }
          return joined({w, copy ? copy : w}, states);
        };
        check_fast_kernel(run);
        check_fast_half_kernel(run, Threads::any, 4e-3);
        if (count < 2000 || wide_gradient) check_gpu_kernel(run);
        if (count < 2000) check_gpu_places(run);
      }
    }
  }
}

TEST_CASE("updates take a gradient in bf16 beside a copy in fp16, and beside none", "[device]") {
  for (const OptimizerStep& step : all_steps) {
    for (const bool has_copy : {false, true}) {
      INFO(name_of(step.settings.kind));
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor w = f.random({37}, 1);
        const auto states = states_of(step, [&](auto k) { return f.random({37}, 2 + k, k == 0 ? 1 : 0); });
        const Tensor copy = has_copy ? f.random_in(DType::f16, {37}, 4) : Tensor();
        optimizer_step(f.context, step, w, f.random_in(DType::bf16, {37}, 5), states, copy);
        return joined({w, copy ? copy : w}, states);
      };
      check_gpu_as_cpu(DType::f32, run, has_copy ? 1e-3 : 1e-6);
    }
  }
}

TEST_CASE("the copy is the new weight, rounded") {
  for (const OptimizerStep& step : all_steps) {
    for (const bool reference : {false, true}) {
      Context context(1, Device::host());
      context.set_reference_only(reference);
      for (const DType dtype : {DType::bf16, DType::f16}) {
        Fixture f(context, DType::f32), h(context, dtype);
        const Tensor w = f.random({37}, 1);
        const auto states = states_of(step, [&](auto) { return f.values({37}, std::vector<double>(37, 1)); });
        const Tensor copy = h.output({37}), expected = h.output({37});
        optimizer_step(context, step, w, f.random({37}, 3), states, copy);
        cast(context, w, expected);
        CHECK(same_bits(copy, expected));
      }
    }
  }
}

TEST_CASE("AdamW keeps a small decay that 1 − lr · weight_decay would round away") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor w = f.values({1}, {1}), zero = f.values({1}, {0}), m = f.values({1}, {0}),
               v = f.values({1}, {0});
  const double decay = 0.75 * std::pow(2.0, -24);  // rounds 1 − decay to 1 − 2⁻²⁴
  const OptimizerStep step{.settings = {.weight_decay = 1, .beta1 = 0.9, .beta2 = 0.9, .eps = 1},
                           .lr = decay,
                           .step = 1,
                           .grad_scale = 1};
  optimizer_step(context, step, w, zero, std::array{m, v}, Tensor());
  CHECK(to_doubles(w)[0] == 1 - std::pow(2.0, -24));
}

TEST_CASE("an update refuses tensors that differ, and other states than the optimizer's") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32), g(context, DType::f64);
  const Tensor a = f.random({3}, 1), b = f.random({4}, 1), wide = g.random({3}, 1), none;
  OptimizerStep step = all_steps.front();
  const auto refused = [&](const Tensor& grad, const std::vector<Tensor>& states, const Tensor& copy) {
    check_refused("adamw", [&] { optimizer_step(context, step, a, grad, states, copy); });
  };
  refused(b, {a, a}, none);
  refused(a, {a, wide}, none);
  refused(a, {a, a}, a);
  refused(a, {a}, none);
  refused(a, {a, a, a}, none);
  step.step = 0;
  refused(a, {a, a}, none);
}

}  // namespace
}  // namespace dt::kernels::test
