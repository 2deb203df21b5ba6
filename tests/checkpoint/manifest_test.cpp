#include "checkpoint/manifest.hpp"

#include <catch2/catch.hpp>

#include "base/numeric/digest.hpp"
#include "checkpoint/piece_index.hpp"
#include "checkpoint/reader.hpp"
#include "checkpoint/sample.hpp"

namespace dt::checkpoint {
namespace {

using test::contains;
using test::error_of;

Manifest filled() {
  Manifest m = test::sample_manifest(1000, 3);
  m.parent = "step-00000500.g2";
  m.created = "2026-01-31T12:00:00Z";
  m.dt_version = "0.2.0";
  m.files = {{"rank-00000.h5", 100000, 0x1122334455667788}};
  Piece part = Piece::whole({4, 6});
  part.start = {1, 2};
  part.box = {3, 4};
  part.begin = 5;
  part.end = 11;
  m.pieces = {
      {"layers.0.attention.q.weight",
       kind_weights,
       DType::f32,
       Piece::whole({4, 6}),
       "rank-00000.h5",
       "/weights/layers.0.attention.q.weight",
       {5},
       2048},
      {"odd \"name\"", kind_second_moment, DType::f64, part, "rank-00000.h5", "/adam_v/odd@0", {6}, 4096}};
  return m;
}

/// Returns the text with one part replaced and its digest made to fit.
std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  const std::size_t tail = text.rfind("\"digest\": \"");
  return text.substr(0, tail) + "\"digest\": \"" + to_hex(digest(std::string_view(text).substr(0, tail))) +
         "\"\n}\n";
}

std::string parse_error(const std::string& text) {
  return error_of(ErrorKind::input, [&] { parse_manifest(text, "some/manifest.json"); });
}

TEST_CASE("a manifest from before mixed precision can be read") {
  const Manifest back =
      parse_manifest(edited(to_json(filled()), "\"matmul\"", "\"unknown\""), "manifest.json");
  CHECK(back.state.matmul.empty());
  CHECK(back.state.skipped_steps == 0);
  CHECK(back.state.loss_scale == 0);
}

TEST_CASE("a manifest from before there was a choice of optimizers is AdamW's") {
  Manifest m = filled();
  m.state.optimizer = {"lion", {"lion_m"}, R"({"beta1":0.9})"};
  const std::string text = to_json(m);
  const StoredOptimizer written = parse_manifest(text, "manifest.json").state.optimizer;
  CHECK(written.name == "lion");
  CHECK(written.state_kinds == std::vector<kernels::StateKind>{"lion_m"});
  CHECK(written.hyper_parameters == R"({"beta1":0.9})");
  const Manifest before = parse_manifest(edited(text, "\"optimizer\"", "\"unknown\""), "manifest.json");
  CHECK(before.state.optimizer.name == "adamw");
  CHECK(before.state.optimizer.state_kinds ==
        std::vector<kernels::StateKind>{kind_first_moment, kind_second_moment});
}

TEST_CASE("a manifest says in which type a kind of state is stored if it is not that of the weights") {
  Manifest m = filled();
  m.state.optimizer = {"adamw", {"adam_m"}, "{}"};
  CHECK(to_json(m).find("state_dtypes") == std::string::npos);
  m.state.optimizer.state_kinds.push_back({"adam_v", kernels::ParameterScope::all, DType::bf16});
  const std::string text = to_json(m);
  const StoredOptimizer back = parse_manifest(text, "manifest.json").state.optimizer;
  CHECK(back.state_kinds == m.state.optimizer.state_kinds);
  CHECK((back.has_kind("adam_v") && !back.has_kind("ema")));
  CHECK(parse_error(edited(text, R"("adam_v":"bf16")", R"("adam_v":"none")")).find("none") !=
        std::string::npos);
}

TEST_CASE("a manifest may give rows and columns to matrices alone, and weights' form to the average") {
  using enum kernels::ParameterScope;
  Manifest m = filled();
  m.state.optimizer = {"adafactor", {{"adafactor_r", matrices, kernels::StateShape::rows}, "ema"}, "{}"};
  const std::string text = to_json(m);
  CHECK(parse_manifest(text, "manifest.json").state.optimizer.state_kinds == m.state.optimizer.state_kinds);
  CHECK(parse_error(edited(text, R"("adafactor_r":"matrices")", R"("adafactor_r":"vectors")"))
            .find("expected matrices or block-matrices") != std::string::npos);
  CHECK(parse_error(edited(text, R"("state_scopes":{)", R"("state_scopes":{"ema":"matrices",)"))
            .find("'ema' has a scope") != std::string::npos);
}

TEST_CASE("weights alone are a whole checkpoint of an optimizer that keeps no state") {
  Manifest m = filled();
  m.pieces.pop_back();
  m.state.optimizer = {};
  const auto pieces = open_pieces(m, "");
  CHECK(has_weights_only(m, *pieces));
  m.state.optimizer = {"sgd", {"sgd_m"}, {}};
  CHECK(has_weights_only(m, *pieces));
  m.state.optimizer = {"sgd", {}, {}};
  CHECK(!has_weights_only(m, *pieces));
}

TEST_CASE("a manifest read back is the manifest written") {
  const Manifest m = filled();
  const std::string text = to_json(m);
  const Manifest back = parse_manifest(text, "manifest.json");
  CHECK(to_json(back) == text);
  CHECK(back.model == m.model);
  CHECK(back.mesh == m.mesh);
  CHECK(back.state.seed == m.state.seed);
  CHECK(back.state.data_digest == m.state.data_digest);
  CHECK(back.state.schedule == m.state.schedule);
  CHECK(back.state.matmul == m.state.matmul);
  CHECK(back.state.skipped_steps == m.state.skipped_steps);
  CHECK(back.state.loss_scale == m.state.loss_scale);
  CHECK(back.state.loss_scale_good_steps == m.state.loss_scale_good_steps);
  CHECK(back.pieces.size() == 2);
  CHECK(back.pieces[1].piece == m.pieces[1].piece);
  CHECK(back.pieces[1].offset == 4096);
  CHECK(back.pieces[1].dtype == DType::f64);
}

TEST_CASE("kinds of state come back with their parameters and shapes") {
  using kernels::ParameterScope, kernels::StateShape;
  Manifest m = filled();
  m.state.optimizer = {"adafactor",
                       {"all",
                        {"rows", ParameterScope::matrices, StateShape::rows},
                        {"columns", ParameterScope::matrices, StateShape::columns},
                        {"some", ParameterScope::vectors}},
                       {}};
  const StoredOptimizer back = parse_manifest(to_json(m), "manifest.json").state.optimizer;
  CHECK(back.state_kinds == m.state.optimizer.state_kinds);
  CHECK(back.find_kind("columns").shape == StateShape::columns);
  CHECK(back.find_kind("some").scope == ParameterScope::vectors);
  CHECK(back.find_kind("weights") == kernels::StateKind("weights"));
  CHECK(to_json(filled()).find("state_shapes") == std::string::npos);
}

TEST_CASE("the layout that wrote a checkpoint comes back, whichever units its stages hold") {
  Manifest m = filled();
  m.model.layers = 4;
  for (const model::Layout& layout :
       {model::Layout{.dp = 4, .zero = 3, .zero_group = 2}, model::Layout{.tp = 2, .sequence_parallel = true},
        model::Layout{.pp = 2, .stages = {{{0, 2}}, {{2, 6}}}},
        model::Layout{.pp = 2,
        .dp = 2,
        .zero = 1,
        .schedule = model::PipelineScheduleKind::zero_bubble,
        .virtual_stages = 2,
        .stages = {{{0, 1}, {5, 6}}, {{1, 3}, {3, 5}}}}}) {
    m.mesh = layout;
    CHECK(parse_manifest(to_json(m), "manifest.json").mesh == layout);
  }
}

TEST_CASE("a manifest from before pipelines has even stages, a schedule from after them is the default") {
  Manifest m = filled();
  m.model.layers = 2;
  m.mesh = {.pp = 2, .dp = 3, .zero_group = 3, .stages = {{{0, 1}}, {{1, 4}}}};
  const std::string text = to_json(m);
  const model::Layout before = parse_manifest(edited(text, "\"schedule\":\"1f1b\"", "\"later\":0"), "m").mesh;
  CHECK(before == model::Layout{.pp = 2, .dp = 3});
  const model::Layout after = parse_manifest(edited(text, "\"1f1b\"", "\"dualpipe\""), "m").mesh;
  CHECK(after == m.mesh);
  CHECK(!contains(text, "\"sp\""));
}

TEST_CASE("how a manifest's layers were cut is told; names that a later version may give are ignored") {
  Manifest m = filled();
  m.mesh = {.dp = 2, .tp = 4, .zero = 1, .sequence_parallel = true};
  const std::string text = to_json(m);
  CHECK(parse_manifest(text, "m").mesh == m.mesh);
  m.mesh.sequence_parallel = false;
  CHECK(parse_manifest(edited(text, "\"sp\":\"on\"", "\"sp\":\"rings\""), "m").mesh == m.mesh);
  CHECK(parse_manifest(edited(text, "\"sp\":\"on\"", "\"later\":2"), "m").mesh == m.mesh);
  CHECK(contains(parse_error(edited(text, "\"tp\":4", "\"tp\":\"four\"")), "tp"));
}

TEST_CASE(
    "a manifest names a division of experts only where there is one, and a model without any has none") {
  Manifest m = filled();
  m.mesh = {.dp = 4};
  const std::string text = to_json(m);
  CHECK(!contains(text, "\"ep\""));
  CHECK(parse_manifest(edited(text, "\"dp\":4", "\"dp\":4,\"ep\":1"), "m").mesh == m.mesh);
  m.mesh.ep = 2;
  CHECK(contains(to_json(m), "\"ep\":2"));
  CHECK(contains(parse_error(to_json(m)),
                 "mesh: ep=2 divides experts among ranks, but this model has no experts"));
  CHECK(contains(parse_error(edited(text, "\"dp\":4", "\"dp\":4,\"ep\":0")), "ep"));
}

TEST_CASE("a table of stages that does not name each unit once is refused") {
  Manifest m = filled();
  m.model.layers = 2;
  m.mesh = {.pp = 2, .stages = {{{0, 1}}, {{1, 4}}}};
  const std::string text = to_json(m);
  const auto message = [&](const std::string& from, const std::string& to) {
    return parse_error(edited(text, from, to));
  };
  CHECK(contains(message("\"stage\":1,", "\"stage\":2,"), "mesh.stages[1]"));
  CHECK(contains(message("\"begin\":1", "\"begin\":2"), "mesh.stages[1]"));
  CHECK(contains(message("\"end\":4", "\"end\":5"), "mesh.stages[1]"));
  CHECK(contains(message("\"end\":4", "\"end\":3"), "the stages hold 3 units; the model has 4"));
  CHECK(contains(message("\"end\":1", "\"end\":0"), "mesh.stages[0]"));
}

TEST_CASE("any changed, lost or added byte of a manifest is refused") {
  const std::string text = to_json(filled());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ 1 << bit);
      INFO("byte " << i << ", bit " << bit);
      CHECK_THROWS_AS(parse_manifest(flipped, "m"), Error);
    }
    CHECK(contains(parse_error(text.substr(0, i)), "some/manifest.json"));
  }
  CHECK(contains(parse_error(text + "\n"), "digest"));
}

TEST_CASE("a manifest of another version or format says so, with or without a fitting digest") {
  const std::string text = to_json(filled());
  std::string torn = text;
  torn.replace(torn.find("\"version\": 1"), 12, "\"version\": 3");
  for (const std::string& other : {torn, edited(text, "\"version\": 1", "\"version\": 3")}) {
    CHECK(contains(parse_error(other), "version 3"));
    CHECK(contains(parse_error(other), "reads versions 1 and 2"));
  }
  CHECK(contains(parse_error(edited(text, "dt-checkpoint", "somebody-elses")), "somebody-elses"));
}

TEST_CASE("a manifest of another version is told from a damaged one") {
  const test::TempFolder folder;
  const std::string text = to_json(filled());
  const auto is_whole = [&](const std::string& written) {
    test::write_text(folder / manifest_name, written);
    return is_manifest_intact(folder.path());
  };
  CHECK(is_whole(text));
  CHECK(is_whole(edited(text, "\"version\": 1", "\"version\": 2")));
  std::string torn = text;
  torn.replace(torn.find("\"version\": 1"), 12, "\"version\": 2");
  CHECK_FALSE(is_whole(torn));
  CHECK_FALSE(is_whole(""));
  CHECK_FALSE(is_manifest_intact(folder / "none"));
}

TEST_CASE("a manifest that dt did not write names the member that is wrong") {
  const std::string text = to_json(filled());
  const auto message = [&](const std::string& from, const std::string& to) {
    return parse_error(edited(text, from, to));
  };
  CHECK(contains(message("\"samples_consumed\":80", "\"samples_consumed\":-1"), "state.samples_consumed"));
  CHECK(contains(message("\"step\":1000", "\"step\":1.5"), "state.step"));
  CHECK(contains(message("\"step\":1000", "\"steps\":1000"), "'state.step' is missing"));
  CHECK(contains(message("\"f64\"", "\"f65\""), "f65"));
  CHECK(contains(message("\"box\":[3,4]", "\"box\":[4,4]"), "pieces[1]"));
  CHECK(contains(message("\"box\":[3,4]", "\"box\":[3,-4]"), "pieces[1]"));
  CHECK(contains(message("\"end\":11", "\"end\":13"), "pieces[1]"));
  CHECK(contains(message("\"offset\":4096", "\"offset\":99960"), "beyond the end"));
  CHECK(contains(message("\"offset\":4096", "\"offset\":18446744073709551615"), "pieces[1].offset"));
  CHECK(contains(message("\"digests\":[\"0000000000000006\"]", "\"digests\":[]"), "0 digests"));
  CHECK(contains(message("\"0000000000000006\"", "\"6\""), "16 hexadecimal"));
  CHECK(contains(message("\"name\":\"rank-00000.h5\"", "\"name\":\"../rank-00000.h5\""), "../rank-00000.h5"));
  CHECK(contains(message("\"file\":\"rank-00000.h5\"", "\"file\":\"rank-00001.h5\""), "rank-00001.h5"));
}

TEST_CASE("values that no run has are refused with the member's name") {
  const std::string text = to_json(filled());
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"\"step\":1000", "\"step\":-1", "'state.step' is -1"},
      {"\"step\":1000", "\"step\":9223372036854775807", "'state.step' is 9223372036854775807, expected 0"},
      {"\"step\":1000", "\"step\":1e308", "'state.step' is not a 64-bit integer"},
      {"\"step\":1000", "\"step\":1e309", "number that is out of range"},
      {"\"samples_consumed\":80", "\"samples_consumed\":18446744073709551615", "'state.samples_consumed'"},
      {"\"grad_lanes\":4", "\"grad_lanes\":0", "'state.grad_lanes' is 0, expected 1"},
      {"\"sequence_length\":32", "\"sequence_length\":4294967296", "'state.sequence_length'"},
      {"\"skipped_steps\":3", "\"skipped_steps\":9223372036854775807", "'state.skipped_steps'"},
      {"\"skipped_steps\":3", "\"skipped_steps\":1001", "'state.skipped_steps' is 1001, expected 0 to 1000"},
      {"\"loss_scale\":4096.0", "\"loss_scale\":-1.0", "'state.loss_scale'"},
      {"\"loss_scale\":4096.0", "\"loss_scale\":1e300", "'state.loss_scale'"},
      {"\"generation\": ", "\"generation\": -", "'generation' is -"},
      {"\"dp\":2", "\"dp\":0", "'mesh.dp' is 0, expected 1"},
      {"\"dp\":2", "\"dp\":2147483648", "'mesh.dp'"},
      {"\"dp\":2,\"tp\":1", "\"dp\":1048576,\"tp\":2", "mesh: it has more than 1048576 ranks"},
      {"\"pp\":1", "\"pp\":100000", "'mesh.pp' is 100000"},
      {"\"zero\":1", "\"zero\":4", "'mesh.zero' is 4"},
      {"\"virtual_stages\":1", "\"virtual_stages\":-5", "'mesh.virtual_stages'"},
      {"\"bytes\":100000", "\"bytes\":18446744073709551615", "'files[0].bytes'"},
      {"\"global\":[4,6]", "\"global\":[4611686018427387904,8]",
       "pieces[0].global: it is not a valid tensor shape"},
      {"\"global\":[4,6]", "\"global\":[0,4611686018427387904,8]",
       "pieces[0].global: it is not a valid tensor shape"},
      {"\"box\":[4,6]", "\"box\":[1,1,1,1,1,1,1,1,1]", "pieces[0].box: it is not a valid tensor shape"},
      {"\"offset\":4096", "\"offset\":2100", "pieces: 'weights' of layers.0.attention.q.weight and"},
      {"\"files\": [",
       "\"files\": [{\"name\":\"rank-00000.h5\",\"bytes\":1,\"metadata_digest\":\"0000000000000000\"},",
       "files[1]: 'rank-00000.h5' is listed twice"},
      {"\"vocab_size\":", "\"vocab_size\":99999999999999999999", "vocab_size is"},
      {"\"step\":1000", "\"step\":1000,\"step\":1000", "member 'state' has the member 'step' twice"},
  };
  for (const Case& c : cases) {
    INFO(c.to);
    const std::string message = parse_error(edited(text, c.from, c.to));
    INFO(message);
    CHECK(contains(message, c.says));
    CHECK(contains(message, "some/manifest.json"));
  }
}

TEST_CASE("a folder that is no checkpoint says what it is") {
  const test::TempFolder folder;
  const auto message = [](const fs::path& path) {
    return error_of(ErrorKind::input, [&] { load_manifest(path); });
  };
  CHECK(contains(message(folder / "none"), "does not exist"));
  CHECK(contains(message(folder.path()), "manifest.json"));
  fs::create_directory(folder / "checkpoints");
  CHECK(contains(message(folder.path()), "dt-checkpoint latest"));
}

}  // namespace
}  // namespace dt::checkpoint
