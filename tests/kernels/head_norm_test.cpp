// Tests the norm of queries' and keys' heads.
#include "kernels/head_norm.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/elementwise.hpp"
#include "kernels/fixture.hpp"

namespace dt::kernels::test {
namespace {

/// Groups of columns from the third on, of rows that have two more.
struct Groups {
  std::int64_t R, G, W;
  bool plus_one = false;
  std::int64_t columns() const { return G * W + 5; }
  Columns in(const Tensor& rows) const { return {rows, 3}; }
  HeadNorm norm() const { return {G, W, W, 1e-5, plus_one}; }
};

TEST_CASE("head_norm scales each group of columns by its root mean square, and keeps what it was") {
  const Context context(1, Device::host());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Fixture f(context, dtype);
    const Tensor rows = f.values({2, 5}, {9, 1, 7, 2, 14, 8, 3, 21, 4, 28}), x = f.output({2, 4}),
                 rstd = f.wide_output({2, 2});
    head_norm(context, {2, 2, 2, 0, false}, f.values({2}, {1, 10}), {}, {rows, 1}, x, rstd);
    const std::vector<double> expected{9, 0.2, 14, 0.2, 14, 8, 0.2, 14, 0.2, 14};
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(to_doubles(rows)[i] == Approx(expected[i]));
    CHECK(to_doubles(x) == std::vector<double>{1, 7, 2, 14, 3, 21, 4, 28});
    CHECK(to_doubles(rstd)[1] == Approx(0.1));
    // The mean of squares is over other ranks' features, too; weights are added to 1.
    const Tensor more = f.values({1, 2}, {1, 7}), squares = f.values({1, 1}, {400}), kept = f.output({1, 2});
    head_norm(context, {1, 2, 4, 0, true}, f.values({2}, {0, 1}), squares, {more}, kept, squares);
    CHECK(to_doubles(more)[0] == Approx(0.1));
    CHECK(to_doubles(more)[1] == Approx(1.4));
    CHECK(to_doubles(squares)[0] == Approx(0.1));
  }
}

TEST_CASE("head_norm_backward is head_norm's gradient") {
  const Context context(1, Device::host());
  for (const Groups& groups : {Groups{3, 2, 5}, Groups{3, 1, 10, true}}) {
    Fixture f(context, DType::f64);
    const auto& [R, G, W, plus_one] = groups;
    const std::int64_t S = groups.columns();
    const Tensor rows = f.random({R, S}, 1), w = f.random({W}, 2), dy = f.random({R, S}, 3),
                 x = f.output({R, G * W}), rstd = f.output({R, G});
    const auto loss = [&] {
      const Tensor y = f.output({R, S});
      copy(context, rows, y);
      head_norm(context, groups.norm(), w, {}, groups.in(y), x, rstd);
      return weighted_sum(y, dy);
    };
    loss();
    const Tensor dx = f.output({R, S}), dw = f.random({W}, 0, 0);
    copy(context, dy, dx);
    head_norm_backward(context, groups.norm(), w, {}, groups.in(dx), x, rstd, dw);
    check_gradient(loss, rows, dx);
    check_gradient(loss, w, dw);
  }
}

TEST_CASE("two ranks' parts of a group, whose sums are added, are what one computes") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f64);
  const std::int64_t R = 3, W = 8, half = 4;
  const Tensor w = f.random({W}, 2), whole = f.random({R, W}, 1), dwhole = f.random({R, W}, 3),
               x = f.output({R, W}), rstd = f.output({R, 1}), dw = f.random({W}, 0, 0);
  std::vector<Tensor> rows, drows, of_rank;
  for (const std::int64_t first : {std::int64_t{0}, half}) {
    rows.push_back(f.output({R, half})), drows.push_back(f.output({R, half}));
    of_rank.push_back(w.flat(first, half));
    cast_columns(context, {whole, first}, {rows.back()}, half);
    cast_columns(context, {dwhole, first}, {drows.back()}, half);
  }
  const HeadNorm norm{1, W, W, 1e-5, false}, part{1, half, W, 1e-5, false};
  head_norm(context, norm, w, {}, {whole}, x, rstd);
  head_norm_backward(context, norm, w, {}, {dwhole}, x, rstd, dw);

  const auto sum = [&](const auto& of_one) {
    const Tensor total = f.random({R, 1}, 0, 0);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const Tensor own = f.output({R, 1});
      of_one(rank, own);
      add(context, own, total, total);
    }
    return total;
  };
  const Tensor squares =
      sum([&](std::size_t rank, const Tensor& own) { head_norm_squares(context, part, {rows[rank]}, own); });
  std::vector<Tensor> kept{f.output({R, half}), f.output({R, half})};
  const Tensor expected = f.output({R, half}), own_rstd = f.output({R, 1}), own_dw = f.random({half}, 0, 0);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    head_norm(context, part, of_rank[rank], squares, {rows[rank]}, kept[rank], own_rstd);
    cast_columns(context, {whole, static_cast<std::int64_t>(rank) * half}, {expected}, half);
    CHECK(relative_error(rows[rank], expected) < 1e-14);
    CHECK(relative_error(own_rstd, rstd) < 1e-14);
  }
  const Tensor products = sum([&](std::size_t rank, const Tensor& own) {
    head_norm_products(context, part, of_rank[rank], {drows[rank]}, kept[rank], own);
  });
  for (std::size_t rank = 0; rank < 2; ++rank) {
    head_norm_backward(context, part, of_rank[rank], products, {drows[rank]}, kept[rank], rstd, own_dw);
    cast_columns(context, {dwhole, static_cast<std::int64_t>(rank) * half}, {expected}, half);
    CHECK(relative_error(drows[rank], expected) < 1e-13);
  }
  CHECK(relative_error(own_dw, f.values({half}, [&] {
          std::vector<double> both;
          for (std::size_t i = 0; i < 4; ++i) both.push_back(to_doubles(dw)[i] + to_doubles(dw)[i + 4]);
          return both;
        }())) < 1e-13);
}

TEST_CASE("fast head norms agree with their references", "[device]") {
  for (const Groups& groups : {Groups{1, 1, 1}, Groups{65, 3, 7}, Groups{40, 2, 64, true}, Groups{200, 4, 20},
                               Groups{9, 1, 600}, Groups{3, 1, 2300, true}}) {
    const auto& [R, G, W, plus_one] = groups;
    for (const bool has_sums : {false, true}) {
      INFO(R << " rows of " << G << " groups of " << W);
      const Case forward = [&](Fixture& f) -> std::vector<Tensor> {
        const Tensor rows = f.random({R, groups.columns()}, 1), w = f.random({W}, 2),
                     x = f.output({R, G * W}), rstd = f.wide_output({R, G});
        if (has_sums) head_norm_squares(f.context, groups.norm(), groups.in(rows), rstd);
        head_norm(f.context, groups.norm(), w, has_sums ? rstd : Tensor(), groups.in(rows), x, rstd);
        return {rows, x, rstd};
      };
      const Case backward = [&](Fixture& f) -> std::vector<Tensor> {
        const Tensor dy = f.random({R, groups.columns()}, 1), x = f.random({R, G * W}, 3),
                     w = f.random({W}, 2), rstd = f.wide_random({R, G}, 4), dw = f.wide_random({W}, 5),
                     products = has_sums ? f.wide_output({R, G}) : Tensor();
        if (has_sums) head_norm_products(f.context, groups.norm(), w, groups.in(dy), x, products);
        head_norm_backward(f.context, groups.norm(), w, products, groups.in(dy), x, rstd, dw);
        return {dy, dw};
      };
      for (const Case& run : {forward, backward}) {
        check_fast_kernel(run);
        check_fast_half_kernel(run, Threads::any, 4e-3);
        if (R * G * W > 9000) continue;  // the test device's threads are fibers
        check_gpu_kernel(run);
        check_gpu_places(run);
      }
    }
  }
}

TEST_CASE("head norms refuse shapes that do not fit") {
  const Context context(1, Device::host());
  Fixture f(context, DType::f32);
  const Tensor rows = f.random({2, 8}, 1), w = f.random({4}, 2), x = f.output({2, 8}),
               rstd = f.output({2, 2}), wrong = f.output({2, 3});
  const HeadNorm norm{2, 4, 4, 1e-5, false};
  check_refused("head_norm", [&] { head_norm(context, norm, w, {}, {rows, 1}, x, rstd); });
  check_refused("head_norm", [&] { head_norm(context, norm, w, wrong, {rows}, x, rstd); });
  check_refused("head_norm", [&] { head_norm(context, {2, 4, 3, 0, false}, w, {}, {rows}, x, rstd); });
  check_refused("head_norm_squares", [&] { head_norm_squares(context, norm, {rows}, wrong); });
  check_refused("head_norm_products", [&] { head_norm_products(context, norm, w, {rows}, wrong, rstd); });
  check_refused("head_norm_backward",
                [&] { head_norm_backward(context, norm, w, {}, {rows}, x, rstd, wrong); });
}

}  // namespace
}  // namespace dt::kernels::test
