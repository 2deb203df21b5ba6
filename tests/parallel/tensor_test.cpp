// Compares steps of layouts whose layers or sequences are divided, with ranks as threads, with
// steps of one rank.

#include <cmath>
#include <optional>
#include <tuple>

#include "parallel/trained_layout.hpp"

using namespace dt;
using namespace dt::parallel;
using namespace dt_test;

namespace {

/// Returns a GPT-2 model: layer norms, learned positions, biases. Its scores are scaled and capped,
/// so that tanh bends most; so are its logits. The MLP and the vocabulary do not divide evenly.
model::ModelSpec biased_spec(int layers, bool tied) {
  model::ModelSpec s = model::load_model_spec("gpt2-124m");
  s.layers = layers;
  s.hidden = 16;
  s.query_heads = s.key_value_heads = 8;
  s.head_dim = 2;
  s.mlp_hidden = 19;
  s.vocabulary = 13;
  s.logit_scale = 4;
  s.logit_softcap = 0.5;
  s.tied = tied;
  s.score_scale = 10;
  s.score_softcap = 0.05;
  return s;
}

struct Family {
  const char* name;
  std::optional<model::ModelSpec> spec;
};

/// Returns a model with norms of queries and keys. Its first layer turns half of a head's features, in
/// adjacent pairs, and scales cosines, sines and queries. Every other layer turns none.
model::ModelSpec normalised_spec(int layers, bool tied, model::QkNorm norm) {
  model::ModelSpec s = grouped_spec(layers, tied);
  s.head_dim = 4;
  s.qk_norm = norm;
  model::AttentionSpec turned;
  turned.rotary = {.partial_factor = 0.5, .is_interleaved = true, .query_scale = 0.2};
  turned.rotary.scaling = {.type = kernels::RotaryScaling::Type::yarn,
                           .factor = 4,
                           .original_positions = 3,
                           .attention_factor = 1.2};
  std::vector<model::AttentionSpec> each(static_cast<std::size_t>(layers), {.is_rotary = false});
  each.front() = turned;
  s.attention = model::PerLayer(each);
  return s;
}

std::vector<Family> families(int layers, bool tied) {
  return {{"grouped", std::nullopt},
          {"biased", biased_spec(layers, tied)},
          {"normalised heads", normalised_spec(layers, tied, model::QkNorm::per_head)},
          {"normalised width", normalised_spec(layers, tied, model::QkNorm::full_width)}};
}

/// Returns the numbers of tensor-parallel ranks that a family's heads allow.
std::vector<int> widths(const Family& family) {
  return family.spec && family.spec->query_heads == 8 ? std::vector{2, 4, 8} : std::vector{2, 4};
}

/// Compares the weights and masters of elements that several ranks hold.
class Held {
 public:
  explicit Held(const model::ModelSpec& spec) {
    const model::ParameterTable table(spec);
    for (const model::ParamSpec& param : table.params())
      for (auto* values : {&weights_, &masters_})
        values->emplace_back(static_cast<std::size_t>(param.shape.numel()), std::nullopt);
  }
  void tell(const Rank& rank) {
    const std::scoped_lock lock(mutex_);
    for (const LocalParam& param : rank.local().params()) {
      tell(param, rank.storage().group_weights(param.group), weights_);
      tell(param, rank.storage().group_masters(param.group), masters_);
    }
  }
  int num_same() const { return num_same_; }
  int num_others() const { return num_others_; }

 private:
  using Values = std::vector<std::vector<std::optional<double>>>;  // by parameter and element

  void tell(const LocalParam& param, const Tensor& part, Values& values) {
    const std::vector<double> own = test::to_doubles(part);
    for (const CopyRange& run : intersect(param.owned_piece, Piece::whole(param.piece.global))) {
      for (std::int64_t i = 0; i < run.count; ++i) {
        auto& value = values[static_cast<std::size_t>(param.param)][static_cast<std::size_t>(run.target + i)];
        const double here = own[static_cast<std::size_t>(param.owned_offset + run.source + i)];
        if (value) ++(std::memcmp(&*value, &here, sizeof here) == 0 ? num_same_ : num_others_);
        value = here;
      }
    }
  }

  std::mutex mutex_;
  Values weights_, masters_;
  int num_same_ = 0, num_others_ = 0;
};

}  // namespace

TEST_CASE("cut layers train as whole ones do") {
  const bool tied = GENERATE(true, false);
  for (const Family& family : families(2, tied)) {
    const Setting reference{
        .layers = 2, .tied = tied, .precision = fp64, .sequence = 8, .spec = family.spec, .z_loss = 0.1};
    const Result expected = train(alone(reference));
    for (const int tp : widths(family)) {
      for (const bool divides : {false, true}) {
        for (const model::SavedActivations saved_activations :
             {model::SavedActivations::all, model::SavedActivations::matmuls}) {
          Setting setting = cut(reference, tp, divides);
          setting.saved_activations = saved_activations;
          INFO(family.name << (tied ? " tied " : " ") << setting.layout.to_string()
                           << (saved_activations == model::SavedActivations::matmuls ? " matmuls" : ""));
          check_close(expected, train(setting), 1e-12);
        }
      }
    }
  }
}

TEST_CASE("in fp32 cut layers are as near as rounding allows") {
  for (const Family& family : families(2, true)) {
    const Setting reference{.layers = 2, .sequence = 8, .spec = family.spec};
    const Result expected = train(alone(reference));
    for (const bool divides : {false, true}) {
      const Setting setting = cut(reference, 2, divides);
      INFO(family.name << " " << setting.layout.to_string());
      check_close(expected, train(setting), 1e-5);
    }
  }
}

TEST_CASE("at equal cuts, stages, dp, ZeRO and recompute change no bit", "[slow]") {
  for (const Family& family : families(2, true)) {
    for (const bool divides : {false, true}) {
      for (const int tp : widths(family)) {
        if (tp > 4) continue;
        const Setting reference = cut({.layers = 2, .sequence = 8, .spec = family.spec}, tp, divides);
        const Result expected = train(reference);
        for (const int pp : {1, 2}) {
          for (const int dp : {1, 2}) {
            for (const int zero : {0, 1}) {
              if (pp * dp == 1 || zero >= dp) continue;
              Setting setting = reference;
              setting.layout.pp = pp;
              setting.layout.dp = dp;
              setting.layout.zero = zero;
              setting.layout = laid_out(setting.layout, num_units(setting));
              setting.recompute = (pp + dp + zero) % 2 == 1;
              INFO(family.name << " " << setting.layout.to_string());
              check_same(expected, train(setting));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("ZeRO 2 and 3 train cut layers as ZeRO 1 does") {
  for (const Family& family : families(2, true)) {
    for (const int zero : {2, 3}) {
      for (const bool divides : {false, true}) {
        const Setting reference{
            .micro_batches = 5, .layers = 2, .precision = fp64, .sequence = 8, .spec = family.spec};
        Setting setting = cut(reference, 2, divides);
        setting.layout.dp = 2;
        setting.layout.zero = zero;
        INFO(family.name << " " << setting.layout.to_string());
        check_close(train(alone(reference)), train(setting), 1e-12);
      }
    }
  }
}

TEST_CASE("in 16 bits replicas of what is not cut stay the same") {
  for (const Family& family : families(2, true)) {
    for (const bool divides : {false, true}) {
      Setting setting =
          cut({.layers = 2, .precision = {.compute = DType::bf16}, .sequence = 8, .spec = family.spec}, 2,
              divides);
      const Result once = train(setting);
      setting.layout.dp = 2;
      setting.layout.zero = 1;
      INFO(family.name << " " << setting.layout.to_string());
      check_same(once, train(setting));
    }
  }
}

TEST_CASE("in 16 bits ranks that hold the same hold the same bits") {
  for (const Family& family : families(2, true)) {
    for (const auto& [cp, tp, zero, divides] :
         std::vector<std::tuple<int, int, int, bool>>{{2, 1, 0, false},
                                                      {1, 2, 0, false},
                                                      {1, 2, 0, true},
                                                      {2, 2, 0, true},
                                                      {2, 4, 0, true},
                                                      {2, 2, 1, true}}) {
      Setting setting{
          .layers = 2, .precision = {.compute = DType::bf16}, .sequence = 16, .spec = family.spec};
      setting.layout = {.tp = tp, .zero = zero, .sequence_parallel = divides, .cp = cp};
      Held held(spec_of(setting));
      train(setting, [&](Rank& rank) { held.tell(rank); });
      INFO(family.name << " " << setting.layout.to_string());
      CHECK(held.num_same() > 0);
      CHECK(held.num_others() == 0);
    }
  }
}

TEST_CASE("divided sequences train as whole ones do") {
  const bool tied = GENERATE(true, false);
  for (const Family& family : families(2, tied)) {
    for (const bool windowed : {false, true}) {
      Setting reference{.layers = 2, .tied = tied, .precision = fp64, .sequence = 16, .spec = family.spec};
      if (windowed) {
        reference.spec = family.spec.value_or(grouped_spec(2, tied));
        reference.spec->attention =
            model::PerLayer(std::vector<model::AttentionSpec>{{}, {.window = 5, .rotary = {500, {}}}});
      }
      const Result expected = train(alone(reference));
      for (const int cp : {2, 4}) {
        for (const int tp : {1, 2}) {
          Setting setting = cut(reference, tp, tp > 1);
          setting.layout.cp = cp;
          setting.recompute = cp == 2;
          setting.saved_activations =
              tp == 2 ? model::SavedActivations::matmuls : model::SavedActivations::all;
          INFO(family.name << (tied ? " tied " : " ") << (windowed ? "windowed " : "")
                           << setting.layout.to_string());
          check_close(expected, train(setting), 1e-12);
        }
      }
    }
  }
}

TEST_CASE("divided sequences under a window train in 16 bits as whole ones do") {
  Setting reference{
      .layers = 2, .precision = {.compute = DType::bf16}, .sequence = 16, .spec = grouped_spec(2, true)};
  reference.spec->attention = model::AttentionSpec{.window = 5};  // chunks that lie before it are skipped
  const Result expected = train(alone(reference));
  for (const int cp : {2, 4}) {
    Setting setting = reference;
    setting.layout.cp = cp;
    check_close(expected, train(setting), 1e-4);
  }
}

TEST_CASE("at equal division of sequences, stages, dp and ZeRO change no bit", "[slow]") {
  for (const Family& family : families(2, true)) {
    for (const int cp : {2, 3, 4, 6}) {
      Setting reference{.layers = 2, .sequence = 24, .spec = family.spec};
      reference.layout.cp = cp;
      const Result expected = train(reference);
      for (const int pp : {1, 2}) {
        for (const int dp : {1, 2, 4}) {
          if (dp * cp > 8) continue;
          for (const int zero : {0, 1}) {
            Setting setting = reference;
            setting.layout.pp = pp;
            setting.layout.dp = dp;
            setting.layout.zero = zero;
            setting.layout.zero_group = zero == 1 && dp == 2 ? 2 : 0;
            setting.layout = laid_out(setting.layout, num_units(setting));
            INFO(family.name << " " << setting.layout.to_string());
            const Result result = train(setting);
            for (std::size_t p = 0; p < expected.params.size(); ++p)
              CHECK(std::memcmp(expected.params[p].data(), result.params[p].data(),
                                expected.params[p].size() * sizeof(double)) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("a rank of cut layers takes the memory that the walk of its list finds") {
  for (const Family& family : families(16, true)) {
    for (const bool divides : {false, true}) {
      for (const model::SavedActivations saved_activations :
           {model::SavedActivations::all, model::SavedActivations::matmuls}) {
        for (const bool recompute : {false, true}) {
          Setting setting =
              cut({.layers = 16, .recompute = recompute, .sequence = 64, .spec = family.spec}, 2, divides);
          setting.saved_activations = saved_activations;
          setting.layout = laid_out({.pp = 2, .tp = 2, .sequence_parallel = divides}, num_units(setting));
          train(setting, [&](Rank& rank) { check_held(setting, rank); });
        }
      }
    }
  }
}

TEST_CASE("a rank of divided sequences takes the memory that the walk of its list and its units tell") {
  for (const Family& family : families(4, true)) {
    for (const int cp : {2, 4}) {
      for (const model::SavedActivations saved_activations :
           {model::SavedActivations::all, model::SavedActivations::matmuls}) {
        Setting setting{.layers = 4,
                        .precision = fp64,
                        .sequence = 64,
                        .saved_activations = saved_activations,
                        .spec = family.spec,
                        .z_loss = 0.1};
        setting.layout = laid_out({.pp = 2, .cp = cp}, num_units(setting));
        train(setting, [&](Rank& rank) {
          check_held(setting, rank);
          check_scratch(setting, rank);
        });
      }
    }
  }
}

TEST_CASE("with rows divided a block keeps 32·s·b·h / t bytes in 16 bits, and statistics") {
  const model::ModelSpec spec = model::load_model_spec("gpt2-124m");
  const model::ParameterTable table(spec);
  const std::int64_t batch = 2, sequence = 1024, rows = batch * sequence, C = spec.hidden;
  for (const int tp : {1, 2, 4}) {
    const model::TensorParallelOps ops({tp - 1, tp, tp > 1});
    const auto units =
        model::make_units(Device::host(), spec, table, DType::bf16, model::SavedActivations::all, ops);
    const std::int64_t input = units[0]->output_shape(batch, sequence).numel() * 2;
    const auto kept =
        static_cast<double>(static_cast<std::int64_t>(units[1]->saved_bytes(batch, sequence)) + input);
    // The formula is Korthikanti et al. 2022, equation 4, without dropout's masks and without
    // scores, which are not kept.
    const std::int64_t statistics = 4 * (rows / tp * (spec.query_heads + 4) + 4 * C);
    const auto formula = static_cast<double>(32 * rows * C / tp + statistics);
    INFO("tp " << tp << ": " << kept << " bytes, " << formula);
    CHECK(std::abs(kept / formula - 1) < 0.001);
  }
}
