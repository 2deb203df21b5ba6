#include "parallel/state/gradient_lanes.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/error.hpp"

using namespace dt;
using parallel::GradientSum;
using parallel::LanePlan;

namespace {

/// Returns the sums that are left, as expressions, from a stack machine that follows the plan.
/// Numbers have `width` digits, so that one expression is part of another only if its text is.
std::vector<std::string> sums_left(const LanePlan& plan, int width = 1) {
  std::vector<std::string> stack;
  std::size_t highest = 0;
  const std::int64_t first = plan.first_micro_batch();
  for (std::int64_t m = first; m < first + plan.num_micro_batches(); ++m) {
    const std::string term = fmt::format("{:0{}}", m, width);
    if (plan.starts_sum(m)) {
      stack.push_back(term);
    } else {
      stack.back() += "," + term;
    }
    highest = std::max(highest, stack.size());
    for (int i = 0; i < plan.combines_after(m); ++i) {
      const std::string right = stack.back();
      stack.pop_back();
      stack.back() = "(" + stack.back() + "+" + right + ")";
    }
  }
  CHECK(static_cast<int>(highest) == plan.depth());
  CHECK(static_cast<int>(stack.size()) == plan.num_final_partials());
  return stack;
}

std::string expression(const LanePlan& plan, int width = 1) {
  const std::vector<std::string> sums = sums_left(plan, width);
  REQUIRE(sums.size() == 1);
  return sums.front();
}

/// Applies the definition literally: all lanes, each with its micro-batches, and the tree over
/// them.
std::string defined(std::int64_t M, std::int64_t L, std::int64_t begin, std::int64_t end) {
  if (end - begin > 1) {
    const std::int64_t middle = begin + (end - begin) / 2;
    const std::string left = defined(M, L, begin, middle), right = defined(M, L, middle, end);
    return left.empty() || right.empty() ? left + right : "(" + left + "+" + right + ")";
  }
  std::string lane;
  for (std::int64_t m = begin * M / L; m < end * M / L; ++m) lane += fmt::format(",{:02}", m);
  return lane.empty() ? lane : lane.substr(1);
}

bool contains(const std::string& whole, const std::string& part) {
  return whole.find(part) != std::string::npos;
}

/// Returns whether `part` is `whole` or an operand in it.
bool is_subtree(const std::string& whole, const std::string& part) {
  return part == whole || contains(whole, "(" + part + "+") || contains(whole, "+" + part + ")");
}

/// Checks what rank `rank` of `ranks` leaves of `whole`, and returns the micro-batches in it.
std::string check_part(const std::string& whole, const LanePlan& plan, std::int64_t rank, std::int64_t ranks,
                       bool is_one_subtree) {
  const std::vector<std::string> sums = sums_left(plan.of_rank(rank, ranks), 2);
  std::string micro_batches;
  bool is_contained = true, may_combine = false;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    is_contained = is_contained && contains(whole, sums[i]);
    if (i > 0) may_combine = may_combine || contains(whole, "(" + sums[i - 1] + "+" + sums[i] + ")");
    for (const char c : sums[i] + ",")
      micro_batches += c == '(' || c == ')' ? "" : c == '+' ? "," : std::string{c};
  }
  INFO("rank " << rank << " of " << ranks);
  CHECK(is_contained);
  CHECK_FALSE(may_combine);
  if (is_one_subtree) CHECK((sums.empty() || (sums.size() == 1 && is_subtree(whole, sums.front()))));
  return micro_batches;
}

/// The sum of these terms shows the order of additions.
const std::vector<double> terms{1.0, 1e-16, 1e16, -1e16, 3.0, 1e-3, 7e15, 1.0};

void add_all(const Context& context, GradientSum& sum, const LanePlan& plan) {
  const std::int64_t first = plan.first_micro_batch();
  for (std::int64_t m = first; m < first + plan.num_micro_batches(); ++m) {
    for (double& g : sum.accumulator(context, m).span<double>()) g += terms[static_cast<std::size_t>(m)];
    sum.finish(context, m);
  }
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

TEST_CASE("the plan is what the definition says, and the ranks' parts are parts of it") {
  for (std::int64_t lanes = 1; lanes <= 17; ++lanes) {
    for (std::int64_t micro_batches = 1; micro_batches <= 34; ++micro_batches) {
      INFO(micro_batches << " micro-batches in " << lanes << " lanes");
      const LanePlan plan(micro_batches, lanes);
      const std::string whole = defined(micro_batches, lanes, 0, lanes);
      CHECK(expression(plan, 2) == whole);
      std::string all;
      for (std::int64_t m = 0; m < micro_batches; ++m) all += fmt::format("{:02},", m);
      for (std::int64_t ranks = 1; ranks <= 16; ++ranks) {
        const bool is_one_subtree =
            std::has_single_bit(static_cast<std::uint64_t>(ranks)) && lanes % ranks == 0;
        std::string together;
        for (std::int64_t r = 0; r < ranks; ++r)
          together += check_part(whole, plan, r, ranks, is_one_subtree);
        CHECK(together == all);
      }
    }
  }
}

TEST_CASE("a rank combines only what lies wholly within it") {
  using Sums = std::vector<std::string>;
  const LanePlan lanes_of_two(8, 4);  // ((0,1+2,3)+(4,5+6,7))
  CHECK(sums_left(lanes_of_two.of_rank(1, 2)) == Sums{"(4,5+6,7)"});
  CHECK(sums_left(lanes_of_two.of_rank(0, 8)) == Sums{"0"});
  CHECK(sums_left(lanes_of_two.of_rank(0, 3)) == Sums{"0,1"});
  CHECK(sums_left(lanes_of_two.of_rank(1, 3)) == Sums{"2,3", "4"});
  CHECK(sums_left(lanes_of_two.of_rank(2, 3)) == Sums{"5", "6,7"});
  CHECK(sums_left(LanePlan(2, 4).of_rank(0, 4)).empty());
  CHECK_THROWS_AS(lanes_of_two.of_rank(3, 3), Error);
  CHECK_THROWS_AS(lanes_of_two.of_rank(0, 2).of_rank(0, 2), Error);
}

TEST_CASE("lanes without micro-batches cost nothing, however many") {
  const std::int64_t many = 1'000'000'000'000;
  CHECK(expression(LanePlan(3, many)) == "(0+(1+2))");
  CHECK(expression(LanePlan(8, many)) == "(((0+1)+(2+3))+((4+5)+(6+7)))");
  CHECK(expression(LanePlan(8, many).of_rank(1, 2)) == "((4+5)+(6+7))");
  CHECK(expression(LanePlan(8, std::int64_t{1} << 62)) == "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST_CASE("the number of partial sums grows with the logarithm of the lanes") {
  CHECK(LanePlan(64, 1).depth() == 1);
  CHECK(LanePlan(64, 2).depth() == 2);
  CHECK(LanePlan(64, 8).depth() == 4);
  CHECK(LanePlan(64, 64).depth() == 7);
}

TEST_CASE("a gradient sum follows its plan bit for bit, step after step") {
  const Context context(1, Device::host());
  const LanePlan plan(5, 4);  // lanes {0} {1} {2} {3,4}
  GradientSum sum(Device::host(), 3, DType::f64, plan);
  for (int step = 0; step < 2; ++step) {
    sum.start(context);
    add_all(context, sum, plan);
    for (double g : sum.total().span<double>()) {
      CHECK(g == (terms[0] + terms[1]) + (terms[2] + (terms[3] + terms[4])));
    }
  }
}

TEST_CASE("two ranks' gradient sums add up to the bits of the whole") {
  const Context context(1, Device::host());
  const LanePlan plan(5, 4);
  std::vector<double> parts;
  for (std::int64_t rank : {0, 1}) {
    const LanePlan part = plan.of_rank(rank, 2);
    GradientSum sum(Device::host(), 1, DType::f64, part);
    sum.start(context);
    add_all(context, sum, part);
    parts.push_back(sum.total().span<double>()[0]);
  }
  CHECK(parts[0] + parts[1] == (terms[0] + terms[1]) + (terms[2] + (terms[3] + terms[4])));
}

TEST_CASE("a gradient sum refuses micro-batches out of order and a total before its time") {
  const Context context(1, Device::host());
  const LanePlan whole(6, 1);
  const LanePlan plan = whole.of_rank(1, 2);  // micro-batches 3, 4, 5
  GradientSum sum(Device::host(), 1, DType::f64, plan);
  CHECK_THROWS_AS(sum.accumulator(context, 3), Error);  // not started
  sum.start(context);
  CHECK_THROWS_AS(sum.total(), Error);
  CHECK_THROWS_AS(sum.accumulator(context, 0), Error);
  CHECK_THROWS_AS(sum.accumulator(context, 4), Error);
  CHECK_THROWS_AS(sum.finish(context, 3), Error);
  sum.accumulator(context, 3);
  CHECK_THROWS_AS(sum.accumulator(context, 3), Error);
  CHECK_THROWS_AS(sum.finish(context, 4), Error);
  sum.finish(context, 3);
  CHECK_THROWS_AS(sum.total(), Error);  // one sum is left, but not every micro-batch is in it
  sum.start(context);
  add_all(context, sum, plan);
  CHECK_NOTHROW(sum.total());
  CHECK_THROWS_AS(sum.accumulator(context, 6), Error);
  CHECK_THROWS_AS(sum.accumulator(context, 3), Error);  // the next step has not been started
}

TEST_CASE("a part whose lanes leave several sums adds them") {
  const Context context(1, Device::host());
  const LanePlan plan = LanePlan(8, 4).of_rank(1, 3);  // 2, 3, 4: a whole lane and half of another
  GradientSum sum(Device::host(), 1, DType::f64, plan);
  REQUIRE(plan.num_final_partials() == 2);
  sum.start(context);
  for (std::int64_t m = 2; m < 5; ++m) {
    sum.accumulator(context, m).span<double>()[0] += static_cast<double>(m);
    sum.finish(context, m);
  }
  CHECK(sum.total().span<double>()[0] == 9);
}

TEST_CASE("the sum of no micro-batches changes no bit of what it is added to") {
  const Context context(1, Device::host());
  const LanePlan plan = LanePlan(2, 4).of_rank(0, 4);
  REQUIRE(plan.num_micro_batches() == 0);
  GradientSum sum(Device::host(), 3, DType::f32, plan);
  sum.start(context);
  for (const float g : sum.total().span<float>()) {
    CHECK((g == 0 && std::signbit(g)));
    CHECK(std::signbit(-0.0F + g));
  }
}
