#include "kernels/adamw.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE(
    "the first AdamW step moves by lr against the gradient's sign and decays the weight apart from it") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor w = f.values({2}, {1, -2}), g = f.values({2}, {0.5, -0.25}), m = f.values({2}, {0, 0});
    const Tensor v = f.values({2}, {0, 0});
    adamw(context,
          {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 0, .weight_decay = 0.5, .step = 1, .grad_scale = 2},
          w, g, m, v, Tensor());
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
    adamw(
        context,
        {.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 0.1, .weight_decay = 0, .step = 3, .grad_scale = 1},
        w, g, m, v, Tensor());
    const double m_hat = (0.9 * 0.2 + 0.1 * 3) / (1 - 0.9 * 0.9 * 0.9);
    const double v_hat = (0.99 * 0.04 + 0.01 * 9) / (1 - 0.99 * 0.99 * 0.99);
    CHECK(to_doubles(w)[0] == Approx(1 - 0.01 * m_hat / (std::sqrt(v_hat) + 0.1)));
  }
}

TEST_CASE("fast AdamW agrees with its reference over many steps", "[device]") {
  for (const std::int64_t count : {1, 15, 16, 17, 1000, 40001}) {
    INFO("count " << count);
    for (const bool wide_gradient : {false, true}) {
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor w = f.wide_random({count}, 1), m = f.wide_random({count}, 0, 0),
                     v = f.wide_random({count}, 0, 0);
        const Tensor rounded = f.output({count});
        const Tensor copy = dtype_bytes(rounded.dtype()) == 2 ? rounded : Tensor();
        for (int t = 1; t <= 5; ++t) {
          const Tensor g = f.random_gradient({count}, 10 + static_cast<std::uint64_t>(t), wide_gradient);
          adamw(f.context, {1e-3, 0.9, 0.95, 1e-8, 0.1, t, 0.5}, w, g, m, v, copy);
        }
        return {w, m, v, copy ? copy : w};
      };
      check_fast_kernel(run);
      check_fast_half_kernel(run, Threads::any, 4e-3);
      check_gpu_kernel(run);
      if (count < 2000) check_gpu_places(run);
    }
  }
}

TEST_CASE("AdamW takes a gradient in bf16 beside a copy in fp16, and beside none", "[device]") {
  for (const bool has_copy : {false, true}) {
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor w = f.random({37}, 1), m = f.random({37}, 2), v = f.random({37}, 3, 0);
      const Tensor copy = has_copy ? f.random_in(DType::f16, {37}, 4) : Tensor();
      adamw(f.context, {1e-3, 0.9, 0.95, 1e-8, 0.1, 3, 1}, w, f.random_in(DType::bf16, {37}, 5), m, v, copy);
      return {w, m, v, copy ? copy : w};
    };
    check_gpu_as_cpu(DType::f32, run, has_copy ? 1e-3 : 1e-6);
  }
}

TEST_CASE("AdamW's copy is the new weight, rounded") {
  for (const bool reference : {false, true}) {
    Context context(1, Device::host());
    context.set_reference_only(reference);
    for (const DType dtype : {DType::bf16, DType::f16}) {
      Fixture f(context, DType::f32), h(context, dtype);
      const Tensor w = f.random({37}, 1), m = f.random({37}, 2),
                   v = f.values({37}, std::vector<double>(37, 1));
      const Tensor copy = h.output({37}), expected = h.output({37});
      adamw(context, {1e-3, 0.9, 0.95, 1e-8, 0.1, 3, 1}, w, f.random({37}, 3), m, v, copy);
      cast(context, w, expected);
      CHECK(same_bits(copy, expected));
    }
  }
}

TEST_CASE("AdamW keeps a small decay that 1 − lr · weight_decay would round away") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor w = f.values({1}, {1}), zero = f.values({1}, {0}), m = f.values({1}, {0}),
               v = f.values({1}, {0});
  const double decay = 0.75 * std::pow(2.0, -24);  // rounds 1 − decay to 1 − 2⁻²⁴
  adamw(context,
        {.lr = decay, .beta1 = 0.9, .beta2 = 0.9, .eps = 1, .weight_decay = 1, .step = 1, .grad_scale = 1}, w,
        zero, m, v, Tensor());
  CHECK(to_doubles(w)[0] == 1 - std::pow(2.0, -24));
}

TEST_CASE("AdamW refuses tensors that differ") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32), g(context, DType::f64);
  const Tensor a = f.random({3}, 1), b = f.random({4}, 1);
  const AdamWStep step{1e-3, 0.9, 0.95, 1e-8, 0.1, 1, 1};
  check_refused("adamw", [&] { adamw(context, step, a, b, a, a, Tensor()); });
  check_refused("adamw", [&] { adamw(context, step, a, a, a, g.random({3}, 1), Tensor()); });
  check_refused("adamw", [&] { adamw(context, step, a, a, a, a, f.random({3}, 1)); });
  check_refused("adamw", [&] { adamw(context, {1e-3, 0.9, 0.95, 1e-8, 0.1, 0, 1}, a, a, a, a, Tensor()); });
}

}  // namespace
}  // namespace dt::kernels::test
