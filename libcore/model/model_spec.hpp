#pragma once
// A model's description as data. One decoder serves every family; the spec selects its parts.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/rotary_scaling.hpp"

namespace dt::model {

enum class Norm { layer_norm, rms_norm };
/// The places of a block's norms: on the input of each branch, on its output before the residual is
/// added, or on both.
enum class NormPlacement { before, after, around };
/// The norm of queries and keys: none, one over each head's features, or one over all heads'.
enum class QkNorm { none, per_head, full_width };
enum class Position { learned, rotary };

/// A setting that each layer has: one value for all layers, or one for each.
template <class T>
class PerLayer {
 public:
  PerLayer(T of_all = {}) : values_{std::move(of_all)} {}
  /// Takes a value for each layer. Equal values are one for all.
  explicit PerLayer(std::vector<T> of_each) : values_(std::move(of_each)) {
    if (std::ranges::all_of(values_, [&](const T& value) { return value == values_.front(); }))
      values_.resize(1);
  }
  const T& operator[](std::int64_t layer) const {
    return is_uniform() ? values_.front() : values_[static_cast<std::size_t>(layer)];
  }
  bool is_uniform() const { return values_.size() == 1; }
  /// Returns whether there is a value for each of a model's layers.
  bool fits(std::int64_t layers) const {
    return is_uniform() || static_cast<std::int64_t>(values_.size()) == layers;
  }

  bool operator==(const PerLayer&) const = default;

 private:
  std::vector<T> values_;
};

/// The way in which the tokens of a layer attend.
struct AttentionSpec {
  /// The most keys that a token sees, its own included. Absent: all before it.
  std::optional<std::int64_t> window{};
  bool is_rotary = true;  // the layer rotates queries and keys, if the model has rotary positions
  kernels::RotaryFrequencies rotary{};  // if it does

  bool operator==(const AttentionSpec&) const = default;
};

/// The kind of a feed-forward layer (see model/layers/feed_forward.hpp).
class FeedForwardKind;
/// An up and a down projection, with gelu between them.
const FeedForwardKind& gelu_mlp();
/// A gate, an up and a down projection: down(silu(gate) · up).
const FeedForwardKind& swiglu_mlp();

/// Ids that mark the beginning and the end of a text for programs that run the model. They do not
/// affect what the model computes.
struct SpecialTokens {
  std::optional<std::int64_t> bos;
  std::vector<std::int64_t> eos;  // each id ends a text
  std::optional<std::int64_t> pad;

  bool operator==(const SpecialTokens&) const = default;
};

struct ModelSpec {
  std::string family;  // "gpt2", "llama", ...: Hugging Face's model_type
  std::int64_t vocabulary = 0;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t query_heads = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t mlp_hidden = 0;
  std::int64_t max_positions = 0;
  Norm norm = Norm::layer_norm;
  double norm_eps = 1e-5;
  bool norm_bias = true;              // layer norms have biases
  bool norm_weight_plus_one = false;  // norms multiply by 1 + weight
  NormPlacement norm_placement = NormPlacement::before;
  QkNorm qk_norm = QkNorm::none;
  /// Both branches of a block read its input: y = x + attention(norm(x)) + mlp(norm(x)).
  bool parallel_branches = false;
  bool shared_norm = false;  // one norm serves both branches; only with parallel_branches
  Position position = Position::learned;
  PerLayer<AttentionSpec> attention;
  PerLayer<const FeedForwardKind*> feed_forward = &gelu_mlp();
  bool qkv_bias = true;
  bool attention_output_bias = true;
  bool mlp_bias = true;
  std::optional<double> score_scale{};    // factor of attention scores; absent: 1/√head_dim
  std::optional<double> score_softcap{};  // scores become cap · tanh(score / cap), before the mask
  double embedding_scale = 1;             // factor of the token embedding's output
  bool rounds_embedding_scale = false;    // rounds embedding_scale to the dtype of the computation
  double residual_scale = 1;              // factor of each branch before it is added
  double logit_scale = 1;                 // factor of logits
  std::optional<double> logit_softcap{};  // logits become cap · tanh(logit / cap), after their scale
  bool tied = true;                       // the head shares the token embedding
  double init_std = 0.02;
  bool scaled_residual_init =
      true;  // output projections start with init_std / √(2·layers) (Radford et al. 2019, 2.3)
  SpecialTokens special;

  bool operator==(const ModelSpec&) const = default;
};

/// Returns whether models of both specs compute the same. The specs then differ at most in their
/// special tokens.
bool same_computation(const ModelSpec& a, const ModelSpec& b);

/// Returns `special` for a model that learns from texts that end with `eos`. If `eos` is among the
/// end-of-text ids, nothing changes. With `replaces_one`, `eos` replaces a single other end-of-text
/// id, and a `bos` of the same id. Otherwise `eos` becomes the first of the ids.
SpecialTokens with_end_of_text(SpecialTokens special, std::int64_t eos, bool replaces_one = true);
/// Returns the end-of-text ids in words: "2", "2, 7", "none".
std::string ends_text(const SpecialTokens& special);

/// Returns the spec of a preset (see preset_names) or of a Hugging Face config.json at a path.
/// Errors: input, naming file and key, for an unknown family, a missing key, heads that do not
/// divide, and any setting of the file that dt does not compute (another activation, ...).
ModelSpec load_model_spec(const std::string& preset_or_path);
const std::vector<std::string>& preset_names();
bool is_preset(const std::string& name);

}  // namespace dt::model
