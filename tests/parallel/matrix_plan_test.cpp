#include "parallel/state/matrix_plan.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "kernels/newton_schulz.hpp"
#include "parallel/grouped_spec.hpp"
#include "support/expert_table.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

MatrixPlan plan_of(const model::ParameterTable& table, const model::Layout& layout, int rank) {
  return MatrixPlan(LocalTable(table, layout, layout.coordinates_of(rank)));
}

/// Adds 1 to the counts of the matrix's elements that a piece holds.
void count(const PlannedMatrix& matrix, const Piece& piece, std::vector<int>& counts) {
  for (const CopyRange& run : intersect(piece, matrix.piece))
    std::ranges::for_each(counts.begin() + run.target, counts.begin() + run.target + run.count,
                          [](int& times) { ++times; });
}

/// Checks that owners get each element once, from ranks that hold it, and that all ranks plan alike.
void check_exchange(const model::ParameterTable& table, const model::Layout& layout) {
  CAPTURE(layout.to_string());
  const MatrixPlan first = plan_of(table, layout, 0);
  double flops = 0;
  for (const std::vector<PlannedMatrix>& round : first.rounds()) {
    std::set<int> owners;
    for (const PlannedMatrix& matrix : round) {
      CHECK(owners.insert(matrix.owner).second);
      flops += kernels::newton_schulz_flops(matrix.rows, matrix.columns);
      std::vector<int> gathered(static_cast<std::size_t>(matrix.rows * matrix.columns));
      std::vector<int> held = gathered;
      for (const auto& [rank, piece] : matrix.sources) {
        count(matrix, piece, gathered);
        const Piece all = first.held_by(matrix, rank);
        CHECK((all.begin <= piece.begin && piece.end <= all.end && all.start == piece.start));
      }
      for (int rank = 0; rank < first.num_ranks(); ++rank) count(matrix, first.held_by(matrix, rank), held);
      CHECK(std::ranges::count(gathered, 1) == std::ssize(gathered));
      CHECK(std::ranges::count(held, 0) == 0);
    }
  }
  CHECK(first.busiest_flops() * first.num_ranks() == Approx(flops * first.imbalance()));
  CHECK(first.imbalance() >= 1);
  const MatrixPlan last = plan_of(table, layout, layout.size() / layout.pp - 1);  // a rank of the same stage
  REQUIRE(last.rounds().size() == first.rounds().size());
  CHECK(last.rank() == last.num_ranks() - 1);
  for (std::size_t round = 0; round < first.rounds().size(); ++round)
    CHECK(std::ranges::equal(first.rounds()[round], last.rounds()[round], [](const auto& a, const auto& b) {
      return a.param == b.param && a.piece == b.piece && a.owner == b.owner;
    }));
}

}  // namespace

TEST_CASE("an owner gathers each element of its matrices once, in any layout") {
  model::ModelSpec spec = dt_test::grouped_spec(4, true);
  spec.mlp_hidden = 1331;
  const model::ParameterTable dense(spec), experts = dt_test::expert_table();
  for (const model::Layout& layout :
       {model::Layout{}, model::Layout{.dp = 4}, model::Layout{.dp = 3, .zero = 1}, model::Layout{.tp = 4},
        model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 2}, model::Layout{.dp = 4, .tp = 4, .zero = 3},
        model::Layout{.dp = 4, .zero = 1, .zero_group = 2}, model::Layout{.dp = 2, .zero = 1, .cp = 2}})
    check_exchange(dense, layout);
  for (const model::Layout& layout :
       {model::Layout{}, model::Layout{.dp = 4, .ep = 2}, model::Layout{.dp = 4, .zero = 1, .ep = 2},
        model::Layout{.dp = 2, .tp = 4, .zero = 1, .ep = 2}})
    check_exchange(experts, layout);
}

TEST_CASE("updates are sent in batches of bounded size, or of one matrix") {
  constexpr std::int64_t most = MatrixPlan::most_arriving_elements;
  std::vector<PlannedMatrix> round(4);
  for (std::size_t i = 0; i < 4; ++i) round[i].most_held = std::array{most, most / 2, most / 2, most + 1}[i];
  CHECK(MatrixPlan::end_of_batch(round, 0) == 1);
  CHECK(MatrixPlan::end_of_batch(round, 1) == 3);
  CHECK(MatrixPlan::end_of_batch(round, 3) == 4);
}

TEST_CASE("each expert is a matrix, and norms, biases, embedding and head are none") {
  const MatrixPlan plan = plan_of(dt_test::expert_table(), {}, 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const auto& round : plan.rounds()) {
    for (const PlannedMatrix& matrix : round) sizes.emplace_back(matrix.rows, matrix.columns);
  }
  CHECK(std::ranges::count(sizes, std::pair<std::int64_t, std::int64_t>{131, 24}) == 7);
  CHECK(std::ranges::count(sizes, std::pair<std::int64_t, std::int64_t>{24, 131}) == 7);
  CHECK(sizes.size() == 7 + 7 + 2);  // keys, and the router
}

TEST_CASE("owners of GPT-2's matrices have about as much to compute") {
  const model::ParameterTable table(model::load_model_spec("gpt2-124m"));
  for (const model::Layout& layout :
       {model::Layout{.dp = 4}, model::Layout{.dp = 4, .zero = 1}, model::Layout{.tp = 4},
        model::Layout{.dp = 2, .tp = 2, .zero = 1}, model::Layout{.dp = 3, .zero = 2},
        model::Layout{.pp = 2, .dp = 4, .zero = 1}}) {
    CAPTURE(layout.to_string());
    const MatrixPlan plan = plan_of(table, layout, 0);
    CHECK(plan.imbalance() <= 1.25);
    CHECK(plan.sent_elements() > 0);
    CHECK(plan.scratch_bytes(DType::f32) < std::size_t{72} << 20);
  }
  CHECK(plan_of(table, {}, 0).sent_elements() == 0);
}
