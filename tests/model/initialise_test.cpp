#include "model/initialise.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.hpp"
#include "support/unit_runner.hpp"

using namespace dt;
using namespace dt::model;

namespace {

ParamSpec matrix(Shape shape) {
  return {"layers.0.mlp.up.weight", std::move(shape), {Init::Kind::normal, 0.02}, true, {}};
}

std::vector<double> values_of(const ParamSpec& param, const Piece& piece, DType dtype = DType::f32,
                              int threads = 1, std::uint64_t seed = 7) {
  const test::OwnedTensor values(dtype, {piece.numel()});
  initialise(param, seed, piece, values.tensor, threads);
  return test::to_doubles(values.tensor);
}

}  // namespace

TEST_CASE("any piece has the values that the whole has there") {
  const ParamSpec param = matrix({37, 53});
  const std::vector<double> whole = values_of(param, Piece::whole(param.shape));
  const std::vector<Piece> pieces{
      {{37, 53}, {0, 0}, {37, 53}, 0, 1},       {{37, 53}, {0, 0}, {37, 53}, 777, 1503},
      {{37, 53}, {5, 0}, {11, 53}, 0, 583},     {{37, 53}, {0, 7}, {37, 9}, 0, 333},
      {{37, 53}, {3, 51}, {30, 2}, 7, 44},      {{37, 53}, {36, 52}, {1, 1}, 0, 1},
      {{37, 53}, {0, 0}, {37, 53}, 1961, 1961},
  };
  for (const Piece& piece : pieces) {
    const std::vector<double> part = values_of(param, piece);
    for (std::int64_t i = 0; i < piece.numel(); ++i) {
      const std::int64_t at = piece.begin + i;
      const std::int64_t row = piece.start[0] + at / piece.box[1];
      const std::int64_t column = piece.start[1] + at % piece.box[1];
      REQUIRE(part[static_cast<std::size_t>(i)] == whole[static_cast<std::size_t>(row * 53 + column)]);
    }
  }
}

TEST_CASE("values do not depend on the number of threads") {
  const ParamSpec param = matrix({1013, 211});
  const Piece slice{{1013, 211}, {0, 3}, {1013, 101}, 17, 100001};
  CHECK(values_of(param, slice) == values_of(param, slice, DType::f32, 5));
  CHECK(values_of(param, Piece::whole(param.shape)) ==
        values_of(param, Piece::whole(param.shape), DType::f32, 3));
}

TEST_CASE("an fp64 value is the fp32 value") {
  const ParamSpec param = matrix({501, 301});  // more than one chunk
  CHECK(values_of(param, Piece::whole(param.shape)) ==
        values_of(param, Piece::whole(param.shape), DType::f64, 2));
}

TEST_CASE("seed and name change all values; mean and deviation are as asked") {
  ParamSpec param = matrix({200, 500});
  const std::vector<double> values = values_of(param, Piece::whole(param.shape));
  double sum = 0, squares = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  const double n = static_cast<double>(values.size());
  CHECK(std::abs(sum / n) < 5 * 0.02 / std::sqrt(n));
  CHECK(std::sqrt(squares / n) == Approx(0.02).epsilon(0.02));

  CHECK(values_of(param, Piece::whole(param.shape), DType::f32, 1, 8)[12345] != values[12345]);
  param.name = "layers.1.mlp.up.weight";
  CHECK(values_of(param, Piece::whole(param.shape))[12345] != values[12345]);
}

TEST_CASE("norms start at one and biases at zero") {
  const ParamSpec norm{"final_norm.weight", {9}, {Init::Kind::ones, 0}, false, {}};
  const ParamSpec bias{"final_norm.bias", {9}, {Init::Kind::zeros, 0}, false, {}};
  CHECK(values_of(norm, Piece::whole({9}), DType::f64) == std::vector<double>(9, 1.0));
  CHECK(values_of(bias, Piece::whole({9})) == std::vector<double>(9, 0.0));
}

TEST_CASE("a piece of another shape or another count is refused") {
  const ParamSpec param = matrix({4, 6});
  const test::OwnedTensor values(DType::f32, {24});
  CHECK_THROWS_AS(initialise(param, 0, Piece::whole({6, 4}), values.tensor, 1), Error);
  CHECK_THROWS_AS(initialise(param, 0, Piece{{4, 6}, {0, 0}, {4, 6}, 0, 23}, values.tensor, 1), Error);
  CHECK_THROWS_AS(initialise(param, 0, Piece{{4, 6}, {1, 0}, {4, 6}, 0, 24}, values.tensor, 1), Error);
}
