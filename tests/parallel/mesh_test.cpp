#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "model/model_spec.hpp"
#include "parallel/grouped_spec.hpp"
#include "parallel/state/local_table.hpp"

using namespace dt;
using namespace dt::parallel;

namespace {

constexpr std::array<std::size_t, 3> three_kinds = {4, 4, 4};

/// Random numbers that depend only on the seed, on every machine.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int operator()(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<unsigned>(most - least + 1));
  }

 private:
  std::mt19937 engine_;
};

/// Returns a small model of one of the families, tied or not, with grouped heads if the family has
/// them.
model::ModelSpec random_spec(Dice& dice) {
  constexpr std::array<const char*, 2> presets = {"gpt2-124m", "llama-tiny"};
  const bool is_llama = dice(0, 2) > 0;
  model::ModelSpec s = model::load_model_spec(presets[is_llama ? 1 : 0]);
  s.layers = dice(1, 5);
  s.key_value_heads = dice(1, 3);
  s.query_heads = s.key_value_heads * (is_llama ? dice(1, 3) : 1);
  s.head_dim = 2 * dice(1, 4);
  s.hidden = is_llama ? 2 * dice(3, 20) : s.query_heads * s.head_dim;
  s.mlp_hidden = dice(5, 90);
  s.vocabulary = dice(17, 900);
  s.max_positions = dice(3, 40);
  s.tied = dice(0, 1) == 1;
  if (is_llama) s.qkv_bias = dice(0, 1) == 1;
  return s;
}

model::Layout random_layout(Dice& dice, const model::ModelSpec& spec) {
  model::Layout layout{dice(1, static_cast<int>(spec.layers) + 2), dice(1, 6), 1, dice(0, 3), 0};
  do layout.tp = dice(1, 7);
  while (!layout_error(layout, spec).empty());
  if (layout.zero > 0 && dice(0, 1) == 1) {
    do layout.zero_group = dice(1, layout.dp);
    while (layout.dp % layout.zero_group != 0);
  }
  return layout;
}

std::string text_of(const model::Layout& m) {
  return fmt::format("pp={},dp={},tp={},zero={},zero-group={}", m.pp, m.dp, m.tp, m.zero, m.zero_group);
}

/// Returns what a rank owns. Parameters are indices into the parameter table.
std::vector<OwnedPiece> owned(const model::ParameterTable& table, const model::Layout& layout, int rank) {
  const LocalTable local(table, layout, layout.coordinates_of(rank));
  std::vector<OwnedPiece> pieces = owned_pieces(local, three_kinds);
  for (OwnedPiece& piece : pieces) piece.param = local.param(piece.param).param;
  return pieces;
}

/// Returns how many ranks own each element of each parameter, in one kind of state.
std::vector<std::vector<int>> counts(const model::ParameterTable& table, const model::Layout& layout,
                                     int kind) {
  std::vector<std::vector<int>> result;
  for (const model::ParamSpec& param : table.params()) {
    result.emplace_back(static_cast<std::size_t>(param.shape.numel()));
  }
  for (int rank = 0; rank < layout.size(); ++rank) {
    for (const OwnedPiece& own : owned(table, layout, rank)) {
      if (own.kind != kind) continue;
      own.piece.validate();
      CHECK(own.piece.numel() > 0);
      std::vector<int>& count = result[static_cast<std::size_t>(own.param)];
      for (const CopyRange& run : intersect(own.piece, Piece::whole(own.piece.global))) {
        for (std::int64_t i = 0; i < run.count; ++i) ++count[static_cast<std::size_t>(run.target + i)];
      }
    }
  }
  return result;
}

std::int64_t bytes_of(const model::ParameterTable& table, const model::Layout& layout, int rank) {
  std::int64_t bytes = 0;
  for (const OwnedPiece& own : owned(table, layout, rank)) bytes += 4 * own.piece.numel();
  return bytes;
}

int find(const model::ParameterTable& table, const std::string& name) {
  const int param = table.find(name);
  REQUIRE(param >= 0);
  return param;
}

/// Returns the pieces of one parameter's weights, by rank.
std::map<int, std::vector<Piece>> owners(const model::ParameterTable& table, const model::Layout& layout,
                                         const std::string& name) {
  std::map<int, std::vector<Piece>> found;
  const int param = find(table, name);
  for (int rank = 0; rank < layout.size(); ++rank) {
    for (const OwnedPiece& own : owned(table, layout, rank)) {
      if (own.param == param && own.kind == 0) found[rank].push_back(own.piece);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("whatever the model and the layout, every element has one owner in every kind") {
  const int seed = GENERATE(range(0, 150));
  Dice dice(static_cast<unsigned>(seed));
  const model::ModelSpec spec = random_spec(dice);
  const model::ParameterTable table(spec);
  const model::Layout layout = random_layout(dice, spec);
  CAPTURE(seed, text_of(layout));
  for (int kind = 0; kind < 3; ++kind) {
    for (const std::vector<int>& count : counts(table, layout, kind)) {
      CHECK(std::all_of(count.begin(), count.end(), [](int n) { return n == 1; }));
    }
  }
}

TEST_CASE("ranks of a stage own about as many bytes each") {
  // The model is so large that 4,096 elements are little.
  model::ModelSpec spec = model::load_model_spec(GENERATE("gpt2-124m", "llama-tiny"));
  if (spec.hidden < 768) spec.hidden = 768, spec.mlp_hidden = 2048, spec.query_heads = 12, spec.head_dim = 64;
  const model::Layout layout =
      GENERATE(model::Layout{1, 8, 1, 0, 0}, model::Layout{1, 8, 1, 3, 0}, model::Layout{1, 8, 1, 1, 2},
               model::Layout{1, 1, 4, 0, 0}, model::Layout{2, 2, 2, 1, 0}, model::Layout{2, 4, 1, 2, 0},
               model::Layout{1, 2, 4, 3, 0});
  const model::ParameterTable table(spec);
  CAPTURE(spec.hidden, spec.tied, text_of(layout));
  for (int stage = 0; stage < layout.pp; ++stage) {
    std::int64_t total = 0, most = 0;
    for (int rank = 0; rank < layout.size(); ++rank) {
      if (layout.coordinates_of(rank).pp != stage) continue;
      total += bytes_of(table, layout, rank);
      most = std::max(most, bytes_of(table, layout, rank));
    }
    CHECK(static_cast<double>(most) <= 1.25 * static_cast<double>(total) / (layout.size() / layout.pp));
  }
}

TEST_CASE("what all data-parallel ranks hold alike they share to within an element") {
  const model::ParameterTable table(model::load_model_spec("gpt2-124m"));
  const model::Layout layout{1, 7, 1, 0, 0};
  const double even = 12.0 * static_cast<double>(table.num_parameters()) / 7;
  for (int rank = 0; rank < 7; ++rank) CHECK(std::abs(bytes_of(table, layout, rank) - even) < 4);
}

TEST_CASE("ranks are numbered with tp fastest, pp slowest") {
  const model::Layout layout{2, 3, 4, 0, 0};
  CHECK(layout.size() == 24);
  CHECK(layout.coordinates_of(0) == model::MeshCoordinates{0, 0, 0});
  CHECK(layout.coordinates_of(5) == model::MeshCoordinates{0, 1, 1});
  CHECK(layout.coordinates_of(23) == model::MeshCoordinates{1, 2, 3});
}

TEST_CASE("heads are cut whole; with fewer than ranks, the first holder of a slice owns it") {
  const model::ParameterTable table(dt_test::grouped_spec(3, true));
  const model::Layout layout{1, 1, 4, 0, 0};
  // Two key-value heads of 2 × 8 over 4 ranks: ranks 0 and 1 hold the first, 2 and 3 the second.
  const auto k = owners(table, layout, "layers.0.attention.k.weight");
  REQUIRE(k.size() == 2);
  CHECK(k.at(0).front() == Piece{{4, 8}, {0, 0}, {2, 8}, 0, 16});
  CHECK(k.at(2).front() == Piece{{4, 8}, {2, 0}, {2, 8}, 0, 16});
  CHECK(shard_piece(table.params()[static_cast<std::size_t>(find(table, "layers.0.attention.k.weight"))],
                    layout, {.tp = 3}) == k.at(2).front());
  // The output projection is cut along its inputs.
  const auto output = owners(table, layout, "layers.0.attention.output.weight");
  REQUIRE(output.size() == 4);
  CHECK(output.at(3).front() == Piece{{8, 8}, {0, 6}, {8, 2}, 0, 16});
  // Norms are whole on every rank, and rank 0 owns them.
  const auto norm = owners(table, layout, "layers.0.mlp_norm.weight");
  REQUIRE(norm.size() == 1);
  CHECK(norm.at(0).front().is_whole());
}

TEST_CASE("slices of what the ranks do not divide are uneven") {
  const model::ParameterTable table(dt_test::grouped_spec(3, true));
  const model::Layout layout{1, 1, 2, 0, 0};
  const auto rows = owners(table, layout, "embedding.token.weight");
  CHECK(rows.at(0).front() == Piece{{7, 8}, {0, 0}, {3, 8}, 0, 24});
  CHECK(rows.at(1).front() == Piece{{7, 8}, {3, 0}, {4, 8}, 0, 32});
  const auto down = owners(table, layout, "layers.2.mlp.down.weight");
  CHECK(down.at(1).front() == Piece{{8, 9}, {0, 4}, {8, 5}, 0, 40});
}

TEST_CASE("a tied table is the first stage's, the head's norm the last one's") {
  const model::ParameterTable table(dt_test::grouped_spec(3, true));
  const model::Layout layout{3, 1, 1, 0, 0};
  CHECK(owners(table, layout, "embedding.token.weight").begin()->first == 0);
  CHECK(owners(table, layout, "layers.1.mlp.up.weight").begin()->first == 1);
  CHECK(owners(table, layout, "final_norm.weight").begin()->first == 2);
}

TEST_CASE("ZeRO cuts a stage's flat buffers at blocks of 4,096 elements") {
  model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  const model::ParameterTable table(spec);
  const model::Layout layout{1, 4, 1, GENERATE(1, 2, 3), 0};
  const auto table_rows = owners(table, layout, "embedding.token.weight");
  REQUIRE(table_rows.size() == 4);
  for (int rank = 1; rank < 4; ++rank) {
    CHECK(table_rows.at(rank).front().begin % 4096 == 0);
    CHECK(table_rows.at(rank).front().begin == table_rows.at(rank - 1).front().end);
  }
}

TEST_CASE("where a layout fits, each rank has the key-value heads that its query heads ask for") {
  const auto [query_heads, key_value_heads] = GENERATE(table<int, int>(
      {{1, 1}, {4, 2}, {4, 4}, {6, 2}, {8, 1}, {12, 12}, {12, 3}, {14, 2}, {32, 8}, {40, 10}}));
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  spec.query_heads = query_heads, spec.key_value_heads = key_value_heads;
  const model::ParameterTable table(spec);
  const auto heads = [&](const char* name, int tp, int rank) {
    const Piece slice =
        shard_piece(table.params()[static_cast<std::size_t>(find(table, name))], {.tp = tp}, {.tp = rank});
    return std::pair(slice.start[0] / spec.head_dim, (slice.start[0] + slice.box[0]) / spec.head_dim);
  };
  const int group = query_heads / key_value_heads;
  for (int tp = 1; tp <= query_heads + 1; ++tp) {
    bool fits = true;
    int next = 0;  // first query head of the next rank; every rank has at least one, and none has another's
    for (int rank = 0; rank < tp; ++rank) {
      const auto [q_begin, q_end] = heads("layers.0.attention.q.weight", tp, rank);
      const auto [kv_begin, kv_end] = heads("layers.0.attention.k.weight", tp, rank);
      const bool is_asked_for = q_begin / group == kv_begin && (q_end - 1) / group == kv_end - 1;
      // A rank with several key-value heads must have the whole query group of each.
      const bool is_even = kv_end - kv_begin == 1 || q_end - q_begin == group * (kv_end - kv_begin);
      fits = fits && is_asked_for && is_even && q_begin == next && q_end > q_begin;
      next = static_cast<int>(q_end);
    }
    CAPTURE(query_heads, key_value_heads, tp);
    if (layout_error({1, 1, tp, 0, 0}, spec).empty()) CHECK(fits);
  }
}

TEST_CASE("virtual stages that a schedule or a model does not have are refused with what would do") {
  using enum model::PipelineScheduleKind;
  const model::ModelSpec spec = dt_test::grouped_spec(5, true);  // 7 units
  const auto why = [&](int pp, model::PipelineScheduleKind schedule, int virtual_stages) {
    return layout_error({.pp = pp, .schedule = schedule, .virtual_stages = virtual_stages}, spec);
  };
  for (const int pp : {1, 2, 3}) {
    CHECK(why(pp, gpipe, 1).empty());
    CHECK(why(pp, interleaved, 2).empty());
    CHECK(why(pp, zero_bubble, 1).empty());
    CHECK(why(pp, zero_bubble, 2).empty());
  }
  CHECK(why(2, one_f_one_b, 2) ==
        "schedule=1f1b does not support virtual-stages=2: it needs 1 stage per rank; use "
        "schedule=interleaved or virtual-stages=1");
  CHECK_THAT(why(2, gpipe, 3), Catch::Contains("schedule=gpipe") &&
                                   Catch::EndsWith("; use schedule=interleaved or virtual-stages=1"));
  CHECK_THAT(why(2, interleaved, 1), Catch::EndsWith("; use virtual-stages=2 or schedule=1f1b"));
  CHECK_THAT(why(2, zero_bubble, 3), Catch::EndsWith("; use virtual-stages=2"));
  // The suggested values work.
  CHECK_THAT(why(3, interleaved, 3),
             Catch::StartsWith("pp=3 with virtual-stages=3 needs at least 9 units; the model has 7 ") &&
                 Catch::EndsWith("; use pp=2 or virtual-stages=2"));
  CHECK(why(2, interleaved, 3).empty());
  CHECK_THAT(why(4, zero_bubble, 2), Catch::EndsWith("; use pp=3 or schedule=1f1b,virtual-stages=1"));
  CHECK_THAT(why(2, interleaved, 9), Catch::EndsWith("; use virtual-stages=3"));
  CHECK_THAT(why(8, interleaved, 2), Catch::EndsWith("; use pp=3"));
  CHECK_THAT(why(8, interleaved, 8), Catch::EndsWith("; use pp=7,schedule=1f1b,virtual-stages=1"));
}

TEST_CASE("a layout that does not fit says what would") {
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  CHECK(layout_error({5, 1, 1, 0, 0}, spec).empty());
  CHECK(layout_error({6, 1, 1, 0, 0}, spec) ==
        "pp=6 needs at least 6 units; the model has 5 (3 blocks, embedding, head); use at most pp=5");
  CHECK(layout_error({1, 4, 1, 1, 3}, spec) == "zero-group=3 does not divide dp=4");
  CHECK(layout_error({1, 4, 1, 0, 2}, spec) == "zero-group has no effect without zero; add zero=1, 2 or 3");

  spec.query_heads = 32, spec.key_value_heads = 8;
  spec.mlp_hidden = spec.vocabulary = 32;
  CHECK(layout_error({1, 1, 6, 0, 0}, spec) ==
        "tp=6 does not fit 32 query heads and 8 key-value heads: tp must divide the query heads, and "
        "divide the key-value heads or be a multiple of them; use tp=4 or tp=8");
  CHECK_THAT(layout_error({1, 1, 12, 0, 0}, spec), Catch::EndsWith("; use tp=8 or tp=16"));
  CHECK_THAT(layout_error({1, 1, 24, 0, 0}, spec), Catch::EndsWith("; use tp=16 or tp=32"));
  CHECK_THAT(layout_error({1, 1, 40, 0, 0}, spec), Catch::EndsWith("; use tp=32"));
  for (const int tp : {1, 2, 4, 8, 16, 32}) CHECK(layout_error({1, 1, tp, 0, 0}, spec).empty());
}

TEST_CASE(
    "gradients of which ranks have parts: of shared key-value heads and norms, with sp of all not cut") {
  model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  spec.layers = 1, spec.key_value_heads = 2;
  const model::ParameterTable table(spec);
  const auto summed = [&](const model::Layout& layout, TensorSum over) {
    std::set<std::string> names;
    for (const model::ParamSpec& param : table.params()) {
      if (tensor_sum_of(param, layout) == over) names.insert(param.name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  const Names heads = {"layers.0.attention.k.weight", "layers.0.attention.k.bias",
                       "layers.0.attention.v.weight", "layers.0.attention.v.bias"};
  const Names whole = {"embedding.position.weight",
                       "layers.0.attention_norm.weight",
                       "layers.0.attention_norm.bias",
                       "layers.0.attention.output.bias",
                       "layers.0.mlp_norm.weight",
                       "layers.0.mlp_norm.bias",
                       "layers.0.mlp.down.bias",
                       "final_norm.weight",
                       "final_norm.bias"};
  for (const bool sp : {false, true}) {
    CHECK(summed({.tp = 4, .sequence_parallel = sp}, TensorSum::replicas) == heads);
    CHECK(summed({.tp = 2, .sequence_parallel = sp}, TensorSum::replicas).empty());
    CHECK(summed({.tp = 2, .sequence_parallel = sp}, TensorSum::all) == (sp ? whole : Names()));
    CHECK(summed({.tp = 1, .sequence_parallel = sp}, TensorSum::none).size() == table.params().size());
  }
  spec.qk_norm = model::QkNorm::per_head;
  const model::ParameterTable shared(spec);
  for (const char* name : {"layers.0.attention.q_norm.weight", "layers.0.attention.k_norm.weight"})
    CHECK(tensor_sum_of(shared.params()[static_cast<std::size_t>(shared.find(name))], {.tp = 2}) ==
          TensorSum::all);
}

TEST_CASE("each tensor-parallel rank has a feature of the MLP and a row of the vocabulary at least") {
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  spec.query_heads = spec.key_value_heads = 32;
  spec.mlp_hidden = 32, spec.vocabulary = 8;
  CHECK(layout_error({1, 1, 8, 0, 0}, spec).empty());
  CHECK(layout_error({1, 1, 16, 0, 0}, spec) ==
        "tp=16 is too large for 32 MLP features and a vocabulary of 8: each rank needs at least one of "
        "each; use tp=8");
  spec.mlp_hidden = 7, spec.vocabulary = 32;
  CHECK_THAT(layout_error({1, 1, 8, 0, 0}, spec), Catch::EndsWith("; use tp=4"));
}

TEST_CASE("tensor-parallel ranks that divide sequences have as many rows as each other") {
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  spec.query_heads = spec.key_value_heads = 8, spec.vocabulary = 32;
  spec.max_positions = 16;
  const auto why = [&](int tp, bool sequence_parallel, std::int64_t length) {
    return sequence_length_error({.tp = tp, .sequence_parallel = sequence_parallel}, spec, length);
  };
  CHECK(why(4, true, 12).empty());
  CHECK(why(4, false, 13).empty());
  CHECK(why(1, true, 13).empty());
  CHECK(why(8, true, 12) ==
        "sp=on needs tp=8 to divide sequences of 12 tokens; use tp=4, --sequence-length 8, "
        "--sequence-length 16 or sp=off");
  // Suggested lengths are no longer than the model's positions, and never zero.
  CHECK_THAT(why(4, true, 18), Catch::Contains("; use tp=2, --sequence-length 16 or sp=off"));
  CHECK_THAT(why(4, true, 3), Catch::Contains("; use tp=1, --sequence-length 4 or sp=off"));
  // The suggested number of ranks is one that the model can have: not 6.
  CHECK_THAT(why(8, true, 6), Catch::Contains("; use tp=2, --sequence-length 8"));
}

TEST_CASE("ranks that divide sequences have two equal chunks each, and of them tp ranks as many rows") {
  model::ModelSpec spec = dt_test::grouped_spec(3, true);
  spec.query_heads = spec.key_value_heads = 8, spec.vocabulary = 32;
  spec.max_positions = 64;
  const auto why = [&](int cp, int tp, std::int64_t length) {
    return sequence_length_error({.tp = tp, .sequence_parallel = tp > 1, .cp = cp}, spec, length);
  };
  CHECK(why(2, 1, 12).empty());
  CHECK(why(2, 4, 16).empty());
  CHECK(why(4, 1, 18) ==
        "cp=4 does not divide sequences of 18 tokens into 8 equal chunks, two for each rank; use cp=3, "
        "--sequence-length 16 or --sequence-length 24");
  CHECK(why(3, 1, 18).empty());
  // Suggested lengths are no longer than the model's positions, and never zero.
  CHECK_THAT(why(8, 1, 62), Catch::EndsWith("; use cp=1, --sequence-length 48 or --sequence-length 64"));
  CHECK_THAT(why(8, 1, 70), Catch::EndsWith("; use cp=7 or --sequence-length 64"));
  CHECK_THAT(why(4, 1, 6), Catch::EndsWith("; use cp=3 or --sequence-length 8"));
  // The suggestions satisfy both cp and sp.
  CHECK_THAT(why(2, 4, 18), Catch::EndsWith("; use --sequence-length 16 or --sequence-length 24"));
  CHECK_THAT(why(32, 8, 31), Catch::EndsWith("; use cp=1,sp=off"));
  CHECK(why(2, 4, 12) ==
        "sp=on needs tp=4 to divide the 6 tokens of each rank (sequence length 12, cp=2); use tp=2, "
        "--sequence-length 8, --sequence-length 16 or sp=off");
}
