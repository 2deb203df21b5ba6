#include "plan/resumable.hpp"

#include <catch2/catch.hpp>
#include <functional>

#include "base/error.hpp"
#include "model/parameter_table.hpp"

using namespace dt;
using namespace dt::plan;

namespace {

constexpr std::uint64_t data = 7;

Plan asked() {
  Plan plan;
  plan.spec = model::load_model_spec("llama-tiny");
  plan.sequence_length = 32;
  plan.seed = 5;
  return plan;
}

/// Returns the manifest of a checkpoint of that training.
checkpoint::Manifest manifest_of(const Plan& plan) {
  checkpoint::Manifest manifest;
  manifest.model = plan.spec;
  manifest.state.sequence_length = plan.sequence_length;
  manifest.state.seed = plan.seed;
  manifest.state.dataset_digest = data;
  const model::ParameterTable table(plan.spec);
  for (const model::ParamSpec& param : table.params()) {
    for (const char* kind :
         {checkpoint::kind_weights, checkpoint::kind_first_moment, checkpoint::kind_second_moment}) {
      checkpoint::StoredPiece piece;
      piece.tensor = param.name;
      piece.kind = kind;
      piece.piece = Piece::whole(param.shape);
      manifest.pieces.push_back(piece);
    }
  }
  return manifest;
}

std::string refusal(const Plan& plan, const checkpoint::Manifest& manifest) {
  try {
    check_resumable(plan, manifest, *checkpoint::open_pieces(manifest, {}), data);
    return {};
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
}

}  // namespace

TEST_CASE("a checkpoint of the training asked for is taken") {
  CHECK(refusal(asked(), manifest_of(asked())).empty());
}

TEST_CASE("another model is refused, with the first tensor that differs and both its shapes") {
  struct Other {
    std::function<void(model::ModelSpec&)> change;
    std::string message;
  };
  const std::vector<Other> others = {
      {[](auto& s) { s.vocabulary = 300; },
       "cannot resume: the model's vocabulary was 320 and is now 300 (weights of embedding.token.weight is "
       "[320, 64] in the checkpoint and [300, 64] in the model)"},
      {[](auto& s) { s.layers += 1; },
       "cannot resume: the model's number of layers was 2 and is now 3 (weights of "
       "layers.2.attention_norm.weight is missing in the checkpoint and [64] in the model)"},
      {[](auto& s) { s.layers -= 1; },
       "cannot resume: the model's number of layers was 2 and is now 1 (adam_m of "
       "layers.1.attention.k.weight "
       "is [32, 64] in the checkpoint and missing in the model)"},
      {[](auto& s) { s.max_positions /= 2; }, "the model's number of positions was"},
  };
  for (const Other& other : others) {
    Plan plan = asked();
    other.change(plan.spec);
    const std::string message = refusal(plan, manifest_of(asked()));
    INFO(message);
    CHECK(message.find(other.message) != std::string::npos);
  }
}

TEST_CASE("a checkpoint that lacks a tensor of its own model is refused by the tensor's name") {
  checkpoint::Manifest manifest = manifest_of(asked());
  manifest.pieces.erase(manifest.pieces.begin() + 2);
  CHECK(refusal(asked(), manifest) ==
        "cannot resume: adam_v of embedding.token.weight is missing in the checkpoint and [320, 64] in the "
        "model");
}

TEST_CASE("the state of another optimizer, or another state of the same, is refused") {
  using optim::OptimizerKind;
  Plan plan = asked();
  checkpoint::Manifest manifest = manifest_of(plan);
  manifest.state.step = 7;
  manifest.generation = 2;
  manifest.state.optimizer = {"adamw", optim::state_kinds(plan.optimizer), {}};
  CHECK(refusal(plan, manifest).empty());
  plan.optimizer.kind = OptimizerKind::lion;
  CHECK(refusal(plan, manifest).find("step-00000007.g2 was trained with adamw: --optimizer lion cannot") ==
        0);
  plan.optimizer = optim::resolve({.kind = OptimizerKind::sgd, .momentum = 0.5});
  manifest.state.optimizer = {"sgd", {}, R"({"momentum":0.0})"};
  CHECK(refusal(plan, manifest)
            .find("step-00000007.g2 holds the sgd state [], but this command needs [sgd_m]") == 0);
  plan.optimizer.momentum = 0;
  std::erase_if(manifest.pieces, [](const auto& piece) { return piece.kind != checkpoint::kind_weights; });
  CHECK(refusal(plan, manifest).empty());
}

TEST_CASE("moments of another type, and an average that only one has, are taken") {
  Plan plan = asked();
  checkpoint::Manifest manifest = manifest_of(plan);
  manifest.state.optimizer = {"adamw", plan.state_kinds(), {}};
  plan.optimizer.moments = optim::MomentType::bf16;
  plan.ema = 0.5;
  CHECK(refusal(plan, manifest).empty());
  checkpoint::StoredPiece average = manifest.pieces.front();
  average.kind = kernels::average_kind;
  manifest.pieces.push_back(average);
  manifest.state.optimizer.state_kinds.emplace_back(kernels::average_kind);
  CHECK(refusal(asked(), manifest).empty());
  CHECK(refusal(plan, manifest).find("cannot resume: ema of ") == 0);  // only one parameter has an average
}

TEST_CASE("other data, or another order of it, is refused") {
  Plan plan = asked();
  plan.seed = 6;
  CHECK(refusal(plan, manifest_of(asked())) == "cannot resume: --seed was 5 and is now 6");
  plan = asked();
  plan.sequence_length = 64;
  CHECK(refusal(plan, manifest_of(asked())) == "cannot resume: --sequence-length was 32 and is now 64");
  checkpoint::Manifest manifest = manifest_of(asked());
  manifest.state.dataset_digest = 8;
  CHECK(refusal(asked(), manifest) ==
        "cannot resume: the digest of --data was 0000000000000008 and is now 0000000000000007");
}
