#include "parallel/state/local_table.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <vector>

#include "model/model_spec.hpp"
#include "parallel/grouped_spec.hpp"
#include "support/expert_table.hpp"
#include "support/whole_layout.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

model::ModelSpec small_spec(bool tied) {
  return dt_test::grouped_spec(4, tied);
}

/// Returns the same model with a table that ZeRO cuts.
model::ModelSpec larger_spec(bool tied) {
  model::ModelSpec s = small_spec(tied);
  s.vocabulary = 1301;
  s.mlp_hidden = 333;
  return s;
}

std::vector<LocalTable> all_ranks(const model::ParameterTable& table, const model::Layout& layout) {
  std::vector<LocalTable> locals;
  for (int rank = 0; rank < layout.size(); ++rank)
    locals.emplace_back(table, layout, layout.coordinates_of(rank));
  return locals;
}

/// Counts how often each element of each parameter is named.
class Counts {
 public:
  explicit Counts(const model::ParameterTable& table) : table_(table) {
    for (const model::ParamSpec& param : table.params())
      counts_.emplace_back(static_cast<std::size_t>(param.shape.numel()));
  }
  void add(int param, const Piece& piece) {
    piece.validate();
    for (const CopyRange& run : intersect(piece, Piece::whole(piece.global))) {
      for (std::int64_t i = 0; i < run.count; ++i)
        ++counts_[to_index(param)][static_cast<std::size_t>(run.target + i)];
    }
  }
  /// Returns whether each element is named as often as `times` says for its parameter's reduction.
  bool all(const std::function<int(model::ReductionAxis)>& times) const {
    for (std::size_t param = 0; param < counts_.size(); ++param) {
      const int n = times(table_.groups()[to_index(table_.group_of(static_cast<int>(param)))].reduction);
      if (!std::ranges::all_of(counts_[param], [n](int count) { return count == n; })) return false;
    }
    return true;
  }

 private:
  const model::ParameterTable& table_;
  std::vector<std::vector<int>> counts_;
};

/// Checks that a rank's counted runs of a group's flat buffer hold the elements of the parameters
/// that the rank owns, and otherwise only padding.
void check_counted(const LocalTable& local, const LocalGroup& group) {
  std::int64_t end = group.owned_range.begin;
  for (const Range& run : group.counted_ranges) {
    CHECK(run.begin >= end);
    end = run.begin + run.count;
  }
  CHECK(end <= group.owned_range.begin + group.owned_range.count);
  for (const int index : group.params) {
    const LocalParam& param = local.param(index);
    const std::int64_t begin = group.owned_range.begin + param.owned_offset;
    for (std::int64_t i = 0; i < param.owned_piece.numel(); ++i) {
      const bool is_counted = std::ranges::any_of(group.counted_ranges, [&](const Range& run) {
        return begin + i >= run.begin && begin + i < run.begin + run.count;
      });
      if (is_counted != param.is_owned) FAIL("element " << begin + i << " of group " << group.group);
    }
  }
}

/// Checks that the tensor-parallel ranks of a stage and data-parallel place may sum runs of their
/// buffers in place: each run of parameters begins at the same element on all of them.
void check_alike(const LocalTable& a, const LocalTable& b) {
  REQUIRE(a.groups().size() == b.groups().size());
  for (std::size_t g = 0; g < a.groups().size(); ++g) {
    const LocalGroup &one = a.groups()[g], &other = b.groups()[g];
    CHECK(one.numel == other.numel);
    CHECK(one.owned_range == other.owned_range);
    CHECK(one.tensor_sums == other.tensor_sums);
    for (const int param : one.params) {
      const bool begins_run = !a.spec(a.param(param)).contiguous_with_previous;
      if (begins_run && a.param(param).offset != b.param(param).offset) FAIL(a.name(param));
    }
  }
}

/// Checks that the runs that ranks sum have exactly the elements of whose gradients each rank has a
/// part.
void check_tensor_sums(const LocalTable& local) {
  for (const LocalParam& param : local.params()) {
    const LocalGroup& group = local.group(param.group);
    const TensorSum expected = tensor_sum_of(local.spec(param), local.layout());
    for (std::int64_t i = 0; i < param.owned_piece.numel(); ++i) {
      const std::int64_t element = group.owned_range.begin + param.owned_offset + i;
      TensorSum found = TensorSum::none;
      for (const auto& [over, run] : group.tensor_sums) {
        if (element >= run.begin && element < run.begin + run.count) found = over;
      }
      if (found != expected) FAIL("element " << element << " of group " << group.group);
    }
  }
}

std::vector<int> num_of(const std::vector<LocalTable>& locals, bool (LocalTable::*counts)() const) {
  std::vector<int> of_dp(static_cast<std::size_t>(locals.front().layout().dp));
  for (const LocalTable& local : locals) of_dp[to_index(local.place().dp)] += (local.*counts)() ? 1 : 0;
  return of_dp;
}

/// Checks that, over all ranks, each element of each kind of state has one owner, and lies in one part
/// of each replica.
void check_owners(const model::ParameterTable& table, const model::Layout& layout) {
  const std::vector<LocalTable> locals = all_ranks(table, layout);
  std::array<Counts, 3> owned = {Counts(table), Counts(table), Counts(table)};
  Counts held(table);
  for (const LocalTable& local : locals) {
    for (const OwnedPiece& own : owned_pieces(local, std::array<std::size_t, 3>{4, 2, 4}))
      owned[to_index(own.kind)].add(local.param(own.param).param, own.piece);
    for (const LocalParam& param : local.params()) {
      if (param.is_owned) held.add(param.param, param.owned_piece);
    }
    for (const LocalGroup& group : local.groups()) check_counted(local, group);
  }
  for (const Counts& counts : owned) CHECK(counts.all([](model::ReductionAxis) { return 1; }));
  CHECK(held.all([&](model::ReductionAxis reduction) { return layout.num_replicas(reduction); }));
  const std::vector<int> once(static_cast<std::size_t>(layout.dp), 1);
  CHECK(num_of(locals, &LocalTable::counts_samples) == once);
  CHECK(num_of(locals, &LocalTable::counts_targets) == once);
  const std::vector<int> once_a_part(static_cast<std::size_t>(layout.dp), layout.cp);
  CHECK(num_of(locals, &LocalTable::counts_loss) == once_a_part);
}

}  // namespace

TEST_CASE(
    "over all ranks, every element of every kind of state has one owner, and lies in one part of each "
    "replica") {
  const int pp = GENERATE(range(1, 5)), tp = GENERATE(1, 2, 4), zero = GENERATE(range(0, 4));
  const bool tied = GENERATE(false, true);
  const model::Layout layout =
      GENERATE_COPY(model::Layout{pp, 1, tp, zero, 0}, model::Layout{pp, 3, tp, zero, 0},
                    model::Layout{pp, 4, tp, zero, zero > 0 ? 2 : 0});
  CAPTURE(pp, tp, zero, tied, layout.dp);
  check_owners(model::ParameterTable(larger_spec(tied)), layout);
}

TEST_CASE("experts are divided among data ranks, and each of their elements has one owner, too") {
  const int tp = GENERATE(1, 2, 4), zero = GENERATE(range(0, 4));
  const model::Layout layout = GENERATE_COPY(
      model::Layout{.dp = 4, .tp = tp, .zero = zero}, model::Layout{.dp = 4, .tp = tp, .zero = zero, .ep = 2},
      model::Layout{.dp = 4, .tp = tp, .zero = zero, .ep = 4},
      model::Layout{.dp = 2, .tp = tp, .zero = zero, .cp = 3, .ep = 3},
      model::Layout{.pp = 2, .dp = 4, .tp = tp, .zero = zero, .zero_group = zero > 0 ? 2 : 0, .ep = 2},
      model::Layout{.dp = 8, .tp = tp, .zero = zero, .zero_group = zero > 0 ? 4 : 0, .ep = 2});
  CAPTURE(layout.to_string());
  const model::ParameterTable table = dt_test::expert_table();
  check_owners(table, layout);
  const std::vector<LocalTable> locals = all_ranks(table, layout);
  for (const LocalTable& local : locals) {
    model::MeshCoordinates first = local.place();
    first.tp = 0;
    check_alike(local, LocalTable(table, layout, first));
    check_tensor_sums(local);
  }
}

TEST_CASE("a rank's box of experts, worked out by hand") {
  const model::ParameterTable table =
      dt_test::expert_table({.vocabulary = 8, .hidden = 4, .experts = 5, .features = 7});
  // Data ranks 0 to 3 have experts {0, 1}, {2, 3, 4}, {0, 1} and {2, 3, 4}.
  const model::Layout layout{.dp = 4, .tp = 2, .zero = 1, .ep = 2};
  const LocalTable local(table, layout, {.dp = 3, .tp = 1});
  REQUIRE(local.groups().size() == 4);  // the tied table, the block, its experts, the head's norm
  const LocalGroup &block = local.group(1), &experts = local.group(2);
  CHECK(local.groups_of(1) == std::vector{1, 2});
  CHECK(local.params_of(1) == std::vector{1, 2, 3, 4, 5, 6});
  CHECK(block.params == std::vector{1, 2, 3});
  CHECK(block.reduction == model::ReductionAxis::data);
  CHECK(block.sharding.size == 4);
  CHECK(block.sharding.rank == 3);

  CHECK(experts.params == std::vector{4, 5, 6});
  CHECK(experts.reduction == model::ReductionAxis::expert_data);
  CHECK(experts.sharding.size == 2);
  CHECK(experts.sharding.rank == 1);
  CHECK(experts.num_replicas == 1);
  CHECK(local.param(4).piece == Piece{{5, 7, 4}, {2, 3, 0}, {3, 4, 4}, 0, 48});
  CHECK(local.param(5).piece == Piece{{5, 4, 7}, {2, 0, 3}, {3, 4, 4}, 0, 48});
  CHECK(local.param(6).piece == Piece{{5, 4}, {2, 0}, {3, 4}, 0, 12});
  CHECK(!local.param(6).is_owned);  // the first tensor-parallel rank owns the bias
  CHECK(experts.numel == 112);
  const LocalTable other(table, layout, {.dp = 2});
  CHECK(other.param(4).piece == Piece{{5, 7, 4}, {0, 0, 0}, {2, 3, 4}, 0, 24});
  CHECK(other.group(2).numel == 80);  // as much as beside it: 2 × 4 × 4, twice, and the bias

  const model::Layout whole{.dp = 4, .zero = 3, .ep = 4};
  const LocalTable alone(table, whole, {.dp = 3});
  CHECK(alone.group(2).owned_range == Range{0, alone.group(2).numel});  // no other rank has its expert
  CHECK(!alone.group(2).sums_replicas_last);
  // If a ZeRO group holds each expert once, the replicas of experts still sum when other replicas do.
  const LocalTable in_groups(table, {.dp = 4, .zero = 2, .zero_group = 2, .ep = 2}, {.dp = 3});
  CHECK(in_groups.group(2).sharding.size == 1);
  CHECK(in_groups.group(2).num_replicas == 2);
  CHECK(in_groups.group(2).sums_replicas_last);
}

TEST_CASE("one stage without tensor parallelism holds the parameter table as it is") {
  const model::ParameterTable table(small_spec(GENERATE(false, true)));
  const LocalTable local(table, model::Layout{1, 3, 1, GENERATE(0, 2), 0}, {0, 1, 0});
  REQUIRE(local.groups().size() == table.groups().size());
  for (std::size_t g = 0; g < table.groups().size(); ++g) {
    const model::GroupSpec& spec = table.groups()[g];
    const model::FlatLayout flat = dt_test::whole_layout(table, spec);
    const LocalGroup& group = local.groups()[g];
    CHECK(group.group == static_cast<int>(g));
    CHECK(group.params == spec.params);
    CHECK(group.numel == flat.numel);
    CHECK(group.holders == spec.units);
    CHECK(group.has_state);
    for (std::size_t i = 0; i < spec.params.size(); ++i)
      CHECK(local.param(group.params[i]).offset == flat.offsets[i]);
  }
  for (std::size_t p = 0; p < table.params().size(); ++p) {
    CHECK(local.params()[p].param == static_cast<int>(p));
    CHECK(local.params()[p].group == table.group_of(static_cast<int>(p)));
    CHECK(local.params()[p].piece == Piece::whole(table.params()[p].shape));
  }
  CHECK(local.units().size() == table.units().size());
  for (const int unit : local.units()) CHECK(local.params_of(unit) == table.units()[to_index(unit)].params);
}

TEST_CASE("a stage's slices, worked out by hand") {
  const model::ParameterTable table(small_spec(true));
  // The first stage has two ranges of units, with both ends, as in the V-shaped schedule.
  const model::Layout layout{.pp = 2, .tp = 2, .stages = {{{0, 2}, {5, 6}}, {{2, 5}}}};
  const LocalTable first(table, layout, layout.coordinates_of(1)),
      last(table, layout, layout.coordinates_of(3));
  CHECK(first.units() == std::vector{0, 1, 5});
  CHECK(last.units() == std::vector{2, 3, 4});
  REQUIRE(first.groups().size() == 3);  // the tied table, a block, the head's norm

  const LocalGroup& tied = first.group(0);
  CHECK(tied.holders == std::vector{0, 5});
  CHECK(tied.numel == 32);
  CHECK(first.param(tied.params[0]).piece == Piece{{7, 8}, {3, 0}, {4, 8}, 0, 32});
  CHECK(first.groups_of(5) == std::vector{0, 2});
  CHECK(first.params_of(5) == std::vector{10, 0});

  // The block has attention_norm 8, padded; q 4 × 8, k and v 2 × 8 each; output 8 × 4; mlp_norm 8,
  // padded; gate and up 5 × 8 each; down 8 × 5.
  const LocalGroup& block = last.group(0);
  CHECK(block.group == 2);
  CHECK(block.holders == std::vector{2});
  std::vector<std::int64_t> offsets;
  for (const int param : block.params) offsets.push_back(last.param(param).offset);
  CHECK(offsets == std::vector<std::int64_t>{0, 16, 48, 64, 80, 112, 128, 168, 208});
  CHECK(block.numel == 256);
  CHECK(last.param(1).piece == Piece{{8, 8}, {4, 0}, {4, 8}, 0, 32});
  CHECK(last.param(4).piece == Piece{{8, 8}, {0, 4}, {8, 4}, 0, 32});
  CHECK(last.param(8).piece == Piece{{8, 9}, {0, 4}, {8, 5}, 0, 40});
  // The first tp rank owns the norms.
  CHECK(block.counted_ranges == std::vector<Range>{{16, 96}, {128, 128}});
}

TEST_CASE("buffers of tensor-parallel ranks are alike, however uneven their slices") {
  model::ModelSpec spec = larger_spec(GENERATE(false, true));
  spec.query_heads = 24;
  spec.key_value_heads = GENERATE(1, 24);
  spec.vocabulary = GENERATE(1301, 50257);
  spec.qkv_bias = spec.mlp_bias = spec.attention_output_bias = true;
  const int tp = GENERATE(2, 3, 8), zero = GENERATE(0, 1, 3);
  const model::Layout layout{.dp = 2, .tp = tp, .zero = zero, .sequence_parallel = GENERATE(false, true)};
  CAPTURE(spec.key_value_heads, spec.vocabulary, tp, zero, layout.sequence_parallel);
  REQUIRE(layout_error(layout, spec).empty());
  const model::ParameterTable table(spec);
  const std::vector<LocalTable> locals = all_ranks(table, layout);
  for (const LocalTable& local : locals) {
    check_alike(local, locals[to_index(local.place().dp * tp)]);
    if (spec.vocabulary > 2000) continue;  // checking each element takes long
    check_tensor_sums(local);
    for (const LocalGroup& group : local.groups()) check_counted(local, group);
  }
}

TEST_CASE("what tensor-parallel ranks sum, worked out by hand") {
  const model::ParameterTable table(small_spec(true));
  const auto block_of = [&](int rank, bool sequence_parallel) {
    const model::Layout layout{.tp = 4, .sequence_parallel = sequence_parallel};
    return LocalTable(table, layout, {0, 0, rank}).group(1);
  };
  // The block has attention_norm 8, padded; q, k and v 2 × 8 each; output 8 × 2; mlp_norm 8,
  // padded; gate and up 2 × 8 each, on the last rank 3 × 8; down 8 × 2, on the last rank 8 × 3.
  for (const int rank : {0, 1, 2, 3}) {
    CHECK(block_of(rank, false).numel == 176);
    CHECK(block_of(rank, false).tensor_sums == std::vector<TensorSumRange>{{TensorSum::replicas, {32, 32}}});
    CHECK(block_of(rank, true).tensor_sums == std::vector<TensorSumRange>{{TensorSum::all, {0, 16}},
                                                                          {TensorSum::replicas, {32, 32}},
                                                                          {TensorSum::all, {80, 16}}});
  }
  // The first rank owns the norms, and every second rank its key-value head.
  CHECK(block_of(0, true).counted_ranges == std::vector<Range>{{0, 176}});
  CHECK(block_of(1, true).counted_ranges == std::vector<Range>{{16, 16}, {64, 16}, {96, 80}});
  const LocalTable whole(table, {.sequence_parallel = true}, {0, 0, 0});
  for (const LocalGroup& group : whole.groups()) CHECK(group.tensor_sums.empty());
}

TEST_CASE("the other end of a tied table holds its weights, not its state") {
  const model::ParameterTable table(small_spec(true));
  const model::Layout layout{.pp = 2, .dp = 2, .zero = 1};
  const LocalTable first(table, layout, {0, 1, 0}), last(table, layout, {1, 1, 0});
  const LocalGroup& there = last.groups().front();
  CHECK(there.group == first.groups().front().group);
  CHECK(there.holders == std::vector{5});
  CHECK(!there.has_state);
  CHECK(there.state_numel() == 0);
  CHECK(there.counted_ranges.empty());
  CHECK(!last.params().front().is_owned);
  CHECK(there.owned_range == first.groups().front().owned_range);  // the sums of one end must fit the other
  CHECK(first.groups().front().has_state);
}

TEST_CASE("units that another stage holds are no business of this one") {
  const model::ParameterTable table(small_spec(false));
  const LocalTable local(table, model::Layout{.pp = 4}, {1, 0, 0});
  CHECK(local.units() == std::vector{2});
  CHECK(local.holds(2));
  CHECK(!local.holds(1));
  CHECK_THROWS_AS(local.groups_of(1), Error);
  CHECK_THROWS_AS(local.params_of(0), Error);
}

TEST_CASE("stages that do not hold each unit once are refused") {
  const model::ParameterTable table(small_spec(false));
  const auto table_of = [&](const model::StageUnits& stages) {
    return LocalTable(table, model::Layout{.pp = 2, .stages = stages}, {0, 0, 0});
  };
  CHECK_NOTHROW(table_of({{{0, 1}}, {{1, 6}}}));
  CHECK_THROWS_AS(table_of({{{0, 2}}, {{1, 6}}}), Error);
  CHECK_THROWS_AS(table_of({{{0, 2}}, {{3, 6}}}), Error);
  CHECK_THROWS_AS(table_of({{{0, 2}}, {{2, 7}}}), Error);
  CHECK_THROWS_AS(table_of({{{0, 6}}}), Error);
  CHECK_THROWS_AS(LocalTable(table, {.dp = 2, .ep = 2}, {}), Error);  // there are no experts
  CHECK_THROWS_AS(LocalTable(dt_test::expert_table(), {.dp = 4, .ep = 3}, {}), Error);
}
