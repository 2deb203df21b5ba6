// Tests the loss over a vocabulary that ranks divide. Legend: R rows, V vocabulary, N ranks.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor columns_of(Fixture& f, const Tensor& x_RV, std::int64_t begin, std::int64_t end) {
  const Tensor columns = f.output({x_RV.dim(0), end - begin});
  cast_columns(f.context, {x_RV, begin}, {columns}, end - begin);
  return columns;
}

Tensor joined(Fixture& f, const std::vector<Tensor>& columns, std::int64_t R, std::int64_t V) {
  const Tensor x_RV = f.output({R, V});
  std::int64_t begin = 0;
  for (const Tensor& part : columns) {
    cast_columns(f.context, {part}, {x_RV, begin}, part.dim(1));
    begin += part.dim(1);
  }
  return x_RV;
}

struct Loss {
  Tensor nll_R, gradient_RV;
};

/// Computes the loss as N ranks do. Rank n has the columns [bounds[n], bounds[n + 1]). Checks that
/// all ranks find the same nll.
Loss divided_loss(Fixture& f, const Tensor& logits_RV, const Tensor& labels_R, double scale,
                  const std::vector<std::int64_t>& bounds) {
  const std::int64_t R = logits_RV.dim(0), V = logits_RV.dim(1), N = std::ssize(bounds) - 1;
  const Tensor parts_N3R = f.output_f64({N, 3, R}), nll_R = f.output_f64({R});
  std::vector<Tensor> columns;
  const auto slice = [&](std::int64_t n) { return DimShard{bounds[static_cast<std::size_t>(n)], V}; };
  for (std::int64_t n = 0; n < N; ++n) {
    columns.push_back(columns_of(f, logits_RV, slice(n).first, slice(n + 1).first));
    const Tensor part_3R = parts_N3R.rows(n, n + 1).reshaped({3, R});
    cross_entropy_partial(f.context, columns.back(), labels_R, slice(n), part_3R);
  }
  cross_entropy_from_partials(f.context, parts_N3R, labels_R, nll_R);
  for (std::int64_t n = 0; n < N; ++n) {
    const Tensor again_R = f.output_f64({R});
    cross_entropy_gradient_from_partials(f.context, parts_N3R, labels_R, slice(n), scale, again_R,
                                         columns[static_cast<std::size_t>(n)]);
    CHECK(same_bits(f.on_host(again_R), f.on_host(nll_R)));
  }
  return {nll_R, joined(f, columns, R, V)};
}

Loss whole_loss(Fixture& f, const Tensor& logits_RV, const Tensor& labels_R, double scale) {
  const Tensor nll_R = f.output_f64({logits_RV.dim(0)});
  const Tensor gradient_RV = columns_of(f, logits_RV, 0, logits_RV.dim(1));
  cross_entropy_gradient(f.context, labels_R, scale, nll_R, gradient_RV);
  return {nll_R, gradient_RV};
}

std::vector<std::int64_t> even_bounds(std::int64_t V, std::int64_t N) {
  std::vector<std::int64_t> bounds;
  for (std::int64_t n = 0; n <= N; ++n) bounds.push_back(n * V / N);
  return bounds;
}

void for_each_kernel(const std::function<void(const Context&, DType)>& body) {
  Context context(1, Device::host()), reference(1, Device::host());
  reference.set_reference_only(true);
  for (const DType dtype : {DType::f64, DType::f32}) body(reference, dtype);
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      INFO(dtype_name(dtype));
      body(context, dtype);
    }
  });
}

/// Returns max |a − b|; infinite if a difference is NaN.
double most_apart(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = to_doubles(a), y = to_doubles(b);
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]);
    most = std::isnan(apart) ? infinity : std::max(most, apart);
  }
  return most;
}

/// Returns the largest error allowed for this dtype, relative to 1.
double tolerance_of(DType dtype) {
  if (dtype == DType::f64) return 1e-14;
  return dtype == DType::f32 ? 2e-6 : 8e-3;
}

TEST_CASE("parts of the loss have the values of their formulas") {
  for_each_kernel([](const Context& context, DType dtype) {
    Fixture f(context, dtype);
    const Tensor part = f.output_f64({3, 3}), labels = f.ids({4, 1, -1});
    cross_entropy_partial(context, f.values({3, 2}, {0, 1, 2, 2, 3, 3}), labels, {3, 5}, part);
    const std::vector<double> p = to_doubles(part);
    CHECK(p[0] + std::log(p[3]) == Approx(std::log(1 + std::exp(1.0))));
    CHECK(p[1] + std::log(p[4]) == Approx(2 + std::log(2.0)));
    CHECK(p[6] == 1);  // label 4 is the second column here
    CHECK(p[7] == 0);  // label 1 is in another part
    for (const std::size_t i : {2, 5, 8}) CHECK(p[i] == 0);
  });
}

TEST_CASE("the loss over a divided vocabulary has the values of its formula, whoever has the label") {
  for_each_kernel([](const Context& context, DType dtype) {
    Fixture f(context, dtype);
    const double log_2 = std::log(2.0);
    const Tensor logits = f.values({4, 3}, {0, 0, log_2, 0, 0, log_2, 0, 0, log_2, 0, 0, log_2});
    const Loss loss = divided_loss(f, logits, f.ids({0, 1, 2, -7}), 16, {0, 1, 3});
    const std::vector<double> expected = {-12, 4, 8, 4, -12, 8, 4, 4, -8, 0, 0, 0};
    const double tolerance = tolerance_of(dtype);
    for (std::size_t r = 0; r < 4; ++r) {
      const double nll = r == 3 ? 0 : 2 * log_2 - (r == 2 ? log_2 : 0);
      CHECK(to_doubles(loss.nll_R)[r] == Approx(nll).margin(tolerance));
    }
    for (std::size_t i = 0; i < 12; ++i) {
      CHECK(to_doubles(loss.gradient_RV)[i] == Approx(expected[i]).margin(16 * tolerance));
    }
  });
}

TEST_CASE("one rank's part makes the whole kernel's nll, bit for bit") {
  for_each_kernel([](const Context& context, DType dtype) {
    for (const double scale : {5., 3000.}) {
      Fixture f(context, dtype);
      const Tensor logits = f.random({5, 2049}, 1, scale), labels = f.random_ids(5, -1, 2049, 2);
      const Loss loss = divided_loss(f, logits, labels, 1, {0, 2049});
      CHECK(same_bits(loss.nll_R, whole_loss(f, logits, labels, 1).nll_R));
    }
  });
}

TEST_CASE("the loss over a divided vocabulary agrees with its reference and with the whole one",
          "[device][slow]") {
  struct Division {
    std::int64_t R, V, N;
  };
  for (const auto& [R_, V_, N_] : {Division{3, 2, 3}, Division{4, 5, 3}, Division{9, 2049, 3},
                                   Division{5, 50257, 2}, Division{5, 50257, 3}, Division{5, 50257, 8}}) {
    const std::int64_t R = R_, V = V_, N = N_;
    INFO("R " << R << " V " << V << " N " << N);
    const Case run = [=](Fixture& f) -> std::vector<Tensor> {
      const Tensor logits = f.random({R, V}, 1, 5);
      const Tensor labels = f.random_ids(R, -1, static_cast<std::int32_t>(V), 2);
      const Loss loss = divided_loss(f, logits, labels, 128, even_bounds(V, N));
      const Loss whole = whole_loss(f, logits, labels, 128);
      CHECK(relative_error(f.on_host(loss.nll_R), f.on_host(whole.nll_R)) < 1e-6);
      CHECK(relative_error(f.on_host(loss.gradient_RV), f.on_host(whole.gradient_RV)) < 2e-3);
      return {loss.nll_R, loss.gradient_RV};
    };
    check_fast_kernel(run);
    check_fast_half_kernel(run, Threads::any, 4e-3);
    check_gpu_kernel(run);
  }
}

TEST_CASE("in fp64 the loss over a divided vocabulary is the whole one to fp64's digits") {
  const Context context(1, Device::host());
  for (const std::int64_t N : {2, 3, 8}) {
    Fixture f(context, DType::f64);
    const Tensor logits = f.random({6, 50257}, 1, 5), labels = f.ids({0, 6282, 25128, 50256, -1, 33333});
    const Loss loss = divided_loss(f, logits, labels, 0.25, even_bounds(50257, N));
    const Loss whole = whole_loss(f, logits, labels, 0.25);
    CHECK(relative_error(loss.nll_R, whole.nll_R) < 1e-14);
    CHECK(relative_error(loss.gradient_RV, whole.gradient_RV) < 1e-14);
  }
}

/// Returns rows of three stretches of 300 logits in ±5, made hard in one of several ways.
std::vector<double> hard_logits(const std::vector<double>& random, int kind) {
  std::vector<double> x = random;
  const auto raise = [&](std::size_t stretch, double by) {
    for (std::size_t i = stretch * 300; i < (stretch + 1) * 300; ++i) x[i] += by;
  };
  if (kind == 0) raise(0, 1e4), raise(1, -1e4);
  if (kind == 1) raise(0, -1e4), raise(2, 1e4);
  if (kind == 2) raise(0, 60), raise(1, -60);  // stretches with shifts of other sizes
  if (kind == 3) raise(1, -infinity);
  if (kind == 4) raise(0, -infinity), raise(2, -infinity);
  if (kind == 5) {  // scattered, also at elements from which a shift is taken
    for (std::size_t i = 0; i < x.size(); i += 7) x[i] = -infinity;
  }
  if (kind == 6) x[299] = x[650] = 5e4, x[0] = -5e4;
  if (kind == 7) raise(0, -6e4), raise(1, -6e4), raise(2, -6e4);
  if (kind == 8) x[450] = 40;  // a logit that exceeds the shifts
  return x;
}

TEST_CASE("the loss over a divided vocabulary is right beside huge logits and those of −∞") {
  const Context exact(1, Device::host());
  for_each_kernel([&](const Context& context, DType dtype) {
    for (int kind = 0; kind < 9; ++kind) {
      for (const std::int32_t label : {5, 455, 895}) {
        INFO("kind " << kind << " label " << label);
        Fixture f(context, dtype), d(exact, DType::f64);
        const Tensor logits = f.values({1, 900}, hard_logits(to_doubles(d.random({1, 900}, 1, 5)), kind));
        const Loss loss = divided_loss(f, logits, f.ids({label}), 1, {0, 300, 600, 900});
        const Loss whole = whole_loss(d, d.values({1, 900}, to_doubles(logits)), d.ids({label}), 1);
        const double nll = to_doubles(loss.nll_R)[0], expected = to_doubles(whole.nll_R)[0];
        CHECK((nll == expected || nll == Approx(expected).epsilon(4e-6)));
        CHECK(most_apart(loss.gradient_RV, whole.gradient_RV) < tolerance_of(dtype));
      }
    }
  });
}

TEST_CASE(
    "a rank's logits far below the others' have the gradient 0, and where all are −∞ the loss shows it") {
  for_each_kernel([](const Context& context, DType dtype) {
    Fixture f(context, dtype);
    std::vector<double> values(200, -infinity);
    const Tensor none = f.values({1, 200}, values);
    CHECK_FALSE(std::isfinite(to_doubles(divided_loss(f, none, f.ids({3}), 1, {0, 100, 200}).nll_R)[0]));
    std::fill(values.begin(), values.begin() + 100, 0);
    std::fill(values.begin() + 150, values.end(), -3e4);
    const Tensor logits = f.values({1, 200}, values);
    const Loss loss = divided_loss(f, logits, f.ids({3}), 1, {0, 100, 200});
    CHECK(to_doubles(loss.nll_R)[0] == Approx(std::log(100.0)).epsilon(4e-6));
    for (std::size_t i = 100; i < 200; ++i) CHECK(to_doubles(loss.gradient_RV)[i] == 0);
  });
}

TEST_CASE("a logit that is not finite shows in the loss of all ranks") {
  for_each_kernel([](const Context& context, DType dtype) {
    for (const double bad : {double{NAN}, infinity}) {
      for (const std::size_t at : {0, 90, 150, 299}) {
        Fixture f(context, dtype);
        std::vector<double> values(300, 1.0);
        values[at] = bad;
        const Tensor logits = f.values({1, 300}, values);
        for (const std::int32_t label : {5, 295}) {
          const Loss loss = divided_loss(f, logits, f.ids({label}), 1, {0, 100, 300});
          CHECK_FALSE(std::isfinite(to_doubles(loss.nll_R)[0]));
        }
      }
    }
  });
}

TEST_CASE("the loss over a divided vocabulary refuses what does not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor logits = f.random({2, 3}, 1), labels = f.ids({0, 6}), part = f.output_f64({3, 2});
  const Tensor parts = f.output_f64({4, 3, 2}), nll = f.output_f64({2});
  const auto refused_part = [&](const Tensor& l, DimShard columns, const Tensor& p) {
    check_refused("cross_entropy_part", [&] { cross_entropy_partial(context, logits, l, columns, p); });
  };
  refused_part(labels, {0, 6}, part);  // label 6 of 6
  refused_part(labels, {5, 7}, part);
  refused_part(labels, {4, 7}, f.output_f64({2, 3}));
  refused_part(labels, {4, 7}, f.output({3, 2}));
  refused_part(f.ids({0}), {4, 7}, part);
  const auto refused = [&](const Tensor& l, DimShard columns, const Tensor& p, const Tensor& n) {
    check_refused("cross_entropy_gradient_of_parts",
                  [&] { cross_entropy_gradient_from_partials(context, p, l, columns, 1, n, logits); });
  };
  refused(labels, {0, 6}, parts, nll);
  refused(labels, {5, 7}, parts, nll);
  refused(labels, {4, 7}, part, nll);
  refused(labels, {4, 7}, f.output_f64({4, 2, 3}), nll);
  refused(labels, {4, 7}, parts, f.output({2}));
  check_refused("cross_entropy_of_parts", [&] { cross_entropy_from_partials(context, part, labels, nll); });
  check_refused("cross_entropy_of_parts",
                [&] { cross_entropy_from_partials(context, parts, labels, f.output_f64({3})); });
}

}  // namespace
}  // namespace dt::kernels::test
