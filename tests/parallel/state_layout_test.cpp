#include "parallel/state/state_layout.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "model/parameter_scope.hpp"
#include "parallel/grouped_spec.hpp"
#include "support/expert_table.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

using kernels::ParameterScope, kernels::StateShape;

const std::vector<StateKind> kinds{"all",
                                   {"vectors", ParameterScope::vectors},
                                   {"rows", ParameterScope::matrices, StateShape::rows},
                                   {"columns", ParameterScope::matrices, StateShape::columns}};

/// Checks that each element of each kind has one owner among all ranks, and that the owner holds it.
void check_owners(const model::ParameterTable& table, const model::Layout& layout) {
  CAPTURE(layout.to_string());
  const std::vector<std::size_t> kind_bytes(kinds.size(), sizeof(float));
  std::map<std::pair<int, int>, std::vector<int>> owners;  // by parameter and kind
  for (int rank = 0; rank < layout.size(); ++rank) {
    const LocalTable local(table, layout, layout.coordinates_of(rank));
    const auto held = [&](const LocalParam& param, std::size_t kind) {
      return state_piece(local, param, kinds[kind]);
    };
    for (const OwnedPiece& own : owned_pieces(local, kind_bytes, held)) {
      const LocalParam& param = local.param(own.param);
      const StateKind& kind = kinds[static_cast<std::size_t>(own.kind)];
      const Shape shape = model::state_shape(local.spec(param).shape, kind.shape);
      CHECK(own.piece.global == shape);
      std::vector<int>& count = owners[{param.param, own.kind}];
      count.resize(static_cast<std::size_t>(shape.numel()));
      for (const CopyRange& run : intersect(own.piece, Piece::whole(shape)))
        std::for_each(count.begin() + run.target, count.begin() + run.target + run.count,
                      [](int& owner) { ++owner; });
      const Piece all = state_piece(local, param, kind);
      CHECK((all.begin <= own.piece.begin && own.piece.end <= all.end));
    }
  }
  for (int param = 0; param < static_cast<int>(table.params().size()); ++param) {
    for (int kind = 0; kind < static_cast<int>(kinds.size()); ++kind) {
      const bool exists = model::is_in_scope(table, param, kinds[static_cast<std::size_t>(kind)].scope);
      CHECK(owners.contains({param, kind}) == exists);
    }
  }
  for (const auto& [place, count] : owners) CHECK(std::ranges::count(count, 1) == std::ssize(count));
}

}  // namespace

TEST_CASE("each element of state of any shape has one owner") {
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  spec.mlp_hidden = 1331;
  const model::ParameterTable dense(spec);
  for (const model::Layout& layout :
       {model::Layout{}, model::Layout{.dp = 3}, model::Layout{.dp = 3, .zero = 1}, model::Layout{.tp = 4},
        model::Layout{.pp = 2, .dp = 2, .tp = 2, .zero = 3},
        model::Layout{.dp = 4, .zero = 1, .zero_group = 2}})
    check_owners(dense, layout);
  const model::ParameterTable experts = dt_test::expert_table();
  for (const model::Layout& layout :
       {model::Layout{.dp = 4, .ep = 2}, model::Layout{.dp = 2, .tp = 4, .zero = 1, .ep = 2}})
    check_owners(experts, layout);
}

TEST_CASE("state of rows and columns is packed, and whole on each rank") {
  const model::ParameterTable table = dt_test::expert_table();
  const model::Layout layout{.dp = 2, .tp = 2, .zero = 1, .ep = 2};
  const LocalTable local(table, layout, layout.coordinates_of(3));
  std::map<std::string, std::int64_t> sizes;
  for (const LocalParam& param : local.params())
    sizes[local.spec(param).name] = state_piece(local, param, kinds[2]).numel();
  CHECK(sizes["layers.0.mlp.experts.up.weight"] == 7 * 131);
  CHECK(sizes["layers.0.mlp.experts.down.weight"] == 7 * 24);
  CHECK(sizes["layers.0.attention_norm.weight"] == 0);
  CHECK(sizes["layers.0.mlp.experts.down.bias"] == 0);  // a vector for each expert
  const StateLayout rows(local, kinds[2]), columns(local, kinds[3]);
  std::int64_t num_rows = 0, num_columns = 0;
  for (int group = 0; group < static_cast<int>(local.groups().size()); ++group) {
    num_rows += rows.numel(group);
    num_columns += columns.numel(group);
  }
  const auto aligned = [](std::initializer_list<std::int64_t> numels) {
    std::int64_t sum = 0;
    for (const std::int64_t numel : numels) sum += round_up(numel, model::ParameterTable::alignment);
    return sum;
  };
  CHECK(num_rows == aligned({613, 12, 7, 7 * 131, 7 * 24}));
  CHECK(num_columns == aligned({24, 24, 24, 7 * 24, 7 * 131}));
}
