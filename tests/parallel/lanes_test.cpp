#include "parallel/lanes.hpp"

#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>

using namespace dt;
using parallel::GradientSum;
using parallel::LanePlan;

namespace {

/// The sum as an expression, from a stack machine that follows the plan.
std::string expression(const LanePlan& plan) {
  std::vector<std::string> stack;
  for (std::int64_t m = 0; m < plan.num_micro_batches(); ++m) {
    if (plan.starts_lane(m)) {
      stack.push_back(std::to_string(m));
    } else {
      stack.back() += "," + std::to_string(m);
    }
    for (int i = 0; i < plan.combines_after(m); ++i) {
      const std::string right = stack.back();
      stack.pop_back();
      stack.back() = "(" + stack.back() + "+" + right + ")";
    }
    CHECK(static_cast<int>(stack.size()) <= plan.depth());
  }
  REQUIRE(stack.size() == 1);
  return stack.front();
}

/// The same micro-batches numbered from `first`.
std::string shifted(const std::string& text, std::int64_t first) {
  std::string out, number;
  for (char c : text + " ") {
    if (c >= '0' && c <= '9') {
      number += c;
      continue;
    }
    if (!number.empty()) out += std::to_string(std::stoll(number) + first);
    number.clear();
    if (c != ' ') out += c;
  }
  return out;
}

}  // namespace

TEST_CASE("one lane sums its micro-batches in order") {
  CHECK(expression(LanePlan(4, 1)) == "0,1,2,3");
}

TEST_CASE("lanes combine in a tree that halves them") {
  CHECK(expression(LanePlan(4, 4)) == "((0+1)+(2+3))");
  CHECK(expression(LanePlan(8, 4)) == "((0,1+2,3)+(4,5+6,7))");
  CHECK(expression(LanePlan(3, 3)) == "(0+(1+2))");
  CHECK(expression(LanePlan(6, 6)) == "((0+(1+2))+(3+(4+5)))");
}

TEST_CASE("a lane without micro-batches is not in the sum") {
  CHECK(expression(LanePlan(1, 4)) == "0");
  CHECK(expression(LanePlan(3, 4)) == "(0+(1+2))");
  CHECK(expression(LanePlan(2, 8)) == "(0+1)");
}

TEST_CASE("the part of a power-of-two rank is a subtree of the whole sum") {
  for (std::int64_t lanes : {2, 4, 6, 8, 12, 16, 24}) {
    for (std::int64_t micro_batches : {1, 2, 3, 5, 8, 12, 24, 31, 48}) {
      const std::string whole = expression(LanePlan(micro_batches, lanes));
      for (std::int64_t ranks = 2; lanes % ranks == 0; ranks *= 2) {
        for (std::int64_t r = 0; r < ranks; ++r) {
          const std::int64_t begin = r * micro_batches / ranks, end = (r + 1) * micro_batches / ranks;
          // A rank's own plan over lanes/ranks lanes has the same boundaries only where they divide evenly.
          if (begin == end || micro_batches % lanes != 0) continue;
          const std::string part = shifted(expression(LanePlan(end - begin, lanes / ranks)), begin);
          INFO(whole << " holds " << part);
          CHECK(whole.find(part) != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("the number of partial sums grows with the logarithm of the lanes") {
  CHECK(LanePlan(64, 1).depth() == 1);
  CHECK(LanePlan(64, 2).depth() == 2);
  CHECK(LanePlan(64, 8).depth() == 4);
  CHECK(LanePlan(64, 64).depth() == 7);
}

TEST_CASE("a gradient sum follows its plan bit for bit, step after step") {
  const Context context(1);
  const LanePlan plan(5, 4);  // lanes {0} {1} {2} {3,4}
  GradientSum sum(3, DType::f64, plan);
  const std::vector<double> terms{1.0, 1e-16, 1e16, -1e16, 3.0};
  const double expected = (terms[0] + terms[1]) + (terms[2] + (terms[3] + terms[4]));
  for (int step = 0; step < 2; ++step) {
    for (std::int64_t m = 0; m < 5; ++m) {
      for (double& g : sum.current(context, m).span<double>()) g += terms[static_cast<std::size_t>(m)];
      sum.finish(context, m);
    }
    for (double g : sum.total().span<double>()) CHECK(g == expected);
  }
}
