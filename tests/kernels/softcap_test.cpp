// Tests the soft cap of logits, and the losses and gradients of capped logits with z-loss.
// Legend: R rows, V vocabulary, N ranks.
#include "kernels/softcap.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

TEST_CASE("scale comes before the cap, and 0 is no cap") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor capped = f.values({2, 2}, {0, 2, -60, 1e6}), scaled = f.values({1, 3}, {-3, 0, 5});
    scale_and_softcap(context, 0.5, 30, capped);
    CHECK(to_doubles(capped)[0] == 0);
    CHECK(to_doubles(capped)[1] == Approx(30 * std::tanh(1.0 / 30)).epsilon(1e-6));
    CHECK(to_doubles(capped)[2] == Approx(-30 * std::tanh(1.0)).epsilon(1e-6));
    CHECK(to_doubles(capped)[3] == Approx(30));
    scale_and_softcap(context, 0.25, 0, scaled);
    CHECK(to_doubles(scaled) == std::vector<double>{-0.75, 0, 1.25});
  }
}

TEST_CASE("fast soft caps agree with their reference", "[device]") {
  struct Sizes {
    std::int64_t R, V;
  };
  for (const auto& [R_, V_] : {Sizes{1, 1}, Sizes{3, 7}, Sizes{4, 64}, Sizes{67, 515}}) {
    for (const double cap : {0.0, 3.0}) {
      const std::int64_t R = R_, V = V_;
      INFO("R " << R << " V " << V << " cap " << cap);
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor x = f.padded(f.random({R, V}, 1, 20));
        scale_and_softcap(f.context, 0.75, cap, x);
        return {f.unpadded(x)};
      };
      check_fast_kernel(run, Threads::any, 1e-6);
      check_fast_half_kernel(run, Threads::any, 4e-3);
      check_gpu_kernel(run);
    }
  }
}

TEST_CASE("the fast soft cap is within 5 units in the last place, and never beyond the cap") {
  const Context host(1, Device::host());
  std::vector<double> values;
  for (int exponent = -20; exponent < 8; ++exponent) {
    for (int i = 0; i < 200; ++i) values.push_back(std::ldexp(1 + i / 200.0, exponent) * (i % 2 ? 1 : -1));
  }
  values.push_back(1e30), values.push_back(-1e30);
  const auto count = static_cast<std::int64_t>(values.size());
  for_each_instruction_set([&] {
    Fixture f(host, DType::f32);
    const Tensor x = f.values({1, count}, values), y = f.values({1, count}, values);
    scale_and_softcap(host, 1, 1, y);
    const std::vector<double> in = to_doubles(x), out = to_doubles(y);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = std::tanh(in[i]);
      REQUIRE((std::abs(out[i] - exact) <= 3e-7 * std::abs(exact) && std::abs(out[i]) <= 1));
    }
    const Tensor nan = f.values({1, 3}, {1, NAN, 2});
    scale_and_softcap(host, 1, 30, nan);
    CHECK(std::isnan(to_doubles(nan)[1]));
  });
}

constexpr double scale = 0.25, z = 0.3, cap = 4;

/// Σ over targets of scale · (nll + z · lse²), with the logits capped.
double total_loss(Fixture& f, const Tensor& x_RV, const Tensor& labels_R) {
  const std::int64_t R = x_RV.dim(0);
  const Tensor logits_RV = f.output({R, x_RV.dim(1)}), nll_R = f.output_f64({R}), z_R = f.output_f64({R});
  cast(f.context, x_RV, logits_RV);
  scale_and_softcap(f.context, 1, cap, logits_RV);
  cross_entropy(f.context, logits_RV, labels_R, {nll_R, z_R});
  double total = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(R); ++r)
    total += scale * (to_doubles(nll_R)[r] + z * to_doubles(z_R)[r]);
  return total;
}

TEST_CASE("z-loss is the square of the log of the sum of exponentials, and no label's") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor nll = f.output_f64({3}), squares = f.output_f64({3});
    const std::vector<double> row = {std::log(1.0), std::log(2.0), std::log(5.0)};
    std::vector<double> rows;
    for (int r = 0; r < 3; ++r) rows.insert(rows.end(), row.begin(), row.end());
    const Tensor logits = f.values({3, 3}, rows);
    cross_entropy(context, logits, f.ids({1, 2, -1}), {nll, squares});
    const double lse = std::log(8.0);
    CHECK(to_doubles(squares)[0] == Approx(lse * lse));
    CHECK(to_doubles(squares)[1] == Approx(lse * lse));
    CHECK(to_doubles(squares)[2] == 0);
    cross_entropy_gradient(context, f.ids({1, 2, -1}), {16, 0.5}, {nll, squares}, logits);
    CHECK(to_doubles(nll)[0] == Approx(std::log(4.0)));  // the nll alone
    CHECK(to_doubles(squares)[1] == Approx(lse * lse));
    CHECK(to_doubles(squares)[2] == 0);
    const double more = 1 + 2 * 0.5 * lse;  // softmax · 16: 2, 4, 10
    CHECK(to_doubles(logits)[0] == Approx(2 * more));
    CHECK(to_doubles(logits)[1] == Approx(4 * more - 16));
    CHECK(to_doubles(logits)[2] == Approx(10 * more));
    CHECK(to_doubles(logits)[5] == Approx(10 * more - 16));
    CHECK(to_doubles(logits)[8] == 0);
  }
}

TEST_CASE("gradients with z-loss and cap are the slopes of the loss, of whole and divided vocabularies") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, V = 7;
  const Tensor x = f.random({R, V}, 1, 6), whole = f.random({R, V}, 1, 6), labels = f.ids({6, -1, 0});
  const Tensor nll = f.output_f64({R}), z_R = f.output_f64({R});
  scale_and_softcap(context, 1, cap, whole);
  const Tensor joined = f.output({R, V}), parts = f.output_f64({2, 3, R});
  const Tensor columns[2] = {f.output({R, 3}), f.output({R, 4})};
  cast_columns(context, {whole, 0}, {columns[0]}, 3), cast_columns(context, {whole, 3}, {columns[1]}, 4);
  cross_entropy_gradient(context, labels, {scale, z, cap}, {nll, z_R}, whole);
  check_gradient([&] { return total_loss(f, x, labels); }, x, whole);

  for (const std::int64_t n : {0, 1})
    cross_entropy_partial(context, columns[n], labels, {3 * n, V}, parts.rows(n, n + 1).reshaped({3, R}));
  const Tensor nll_of_parts = f.output_f64({R}), z_of_parts = f.output_f64({R}), z_again = f.output_f64({R});
  cross_entropy_from_partials(context, parts, labels, {nll_of_parts, z_again});
  for (const std::int64_t n : {0, 1}) {
    cross_entropy_gradient_from_partials(context, parts, labels, {3 * n, V}, {scale, z, cap},
                                         {nll_of_parts, z_of_parts}, columns[n]);
    cast_columns(context, {columns[n]}, {joined, 3 * n}, 3 + n);
  }
  CHECK(relative_error(joined, whole) < 1e-14);
  CHECK(relative_error(nll_of_parts, nll) < 1e-14);
  CHECK(relative_error(z_of_parts, z_R) < 1e-14);
  CHECK(same_bits(z_of_parts, z_again));
}

TEST_CASE("fast losses with z-loss and cap agree with their reference", "[device]") {
  struct Sizes {
    std::int64_t R, V;
  };
  for (const auto& [R_, V_] : {Sizes{3, 7}, Sizes{5, 515}}) {
    for (const auto& [z_, cap_] : {std::pair{z, 0.0}, std::pair{0.0, cap}, std::pair{z, cap}}) {
      const std::int64_t R = R_, V = V_;
      const LossGradient gradient(128, z_, cap_);
      INFO("R " << R << " V " << V << " z " << z_ << " cap " << cap_);
      const Case run = [=](Fixture& f) -> std::vector<Tensor> {
        const Tensor logits = f.padded(f.random({R, V}, 1, 3.5)), again = f.padded(f.random({R, V}, 1, 3.5));
        const Tensor labels = f.random_ids(R, -1, static_cast<std::int32_t>(V), 2);
        const Tensor nll = f.output_f64({R}), z_R = f.output_f64({R}), z_before = f.output_f64({R});
        const Tensor parts = f.output_f64({1, 3, R}), nll_of_parts = f.output_f64({R}),
                     z_of_parts = f.output_f64({R});
        cross_entropy(f.context, logits, labels, {nll, z_before});
        cross_entropy_gradient(f.context, labels, gradient, {nll, z_R}, logits);
        CHECK(same_bits(f.on_host(z_R), f.on_host(z_before)));
        cross_entropy_partial(f.context, again, labels, {}, parts.reshaped({3, R}));
        cross_entropy_gradient_from_partials(f.context, parts, labels, {}, gradient,
                                             {nll_of_parts, z_of_parts}, again);
        CHECK(same_bits(f.on_host(z_R), f.on_host(z_of_parts)));
        return {nll, z_R, f.unpadded(logits), f.unpadded(again)};
      };
      check_fast_kernel(run);
      check_fast_half_kernel(run, Threads::any, 4e-3);
      check_gpu_kernel(run);
    }
  }
}

TEST_CASE("without z-loss and cap, z-loss's values change no bit of nll and gradient") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    Fixture f(context, dtype);
    const Tensor plain = f.random({4, 2049}, 1, 5), measured = f.random({4, 2049}, 1, 5);
    const Tensor labels = f.random_ids(4, 0, 2049, 2), nll = f.output_f64({4}), other = f.output_f64({4});
    cross_entropy_gradient(context, labels, 0.5, nll, plain);
    cross_entropy_gradient(context, labels, 0.5, {other, f.output_f64({4})}, measured);
    CHECK(same_bits(plain, measured));
    CHECK(same_bits(nll, other));
  }
}

TEST_CASE("soft caps and z-loss refuse what does not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor logits = f.random({2, 3}, 1), labels = f.ids({0, 1}), nll = f.output_f64({2});
  check_refused("scale_and_softcap", [&] { scale_and_softcap(context, 1, -1, logits); });
  check_refused("scale_and_softcap", [&] { scale_and_softcap(context, 1, 1, f.output({3})); });
  check_refused("cross_entropy", [&] { cross_entropy(context, logits, labels, {nll, f.output_f64({3})}); });
}

}  // namespace
}  // namespace dt::kernels::test
