#include "model/hf/rotary_members.hpp"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::model::hf {

using kernels::RotaryFrequencies;
using kernels::RotaryScaling;
using Type = RotaryScaling::Type;

namespace {

/// Returns the factor that enlarges scores as positions are extended by `factor`.
/// Source: Peng et al. 2023, eq. 22.
double yarn_magnitude(double factor, double weight = 1) {
  return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1;
}
/// Source: Ding et al. 2024, section 3.3, as transformers computes it.
double longrope_magnitude(double factor, std::int64_t original_positions) {
  if (factor <= 1) return 1;
  return std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original_positions)));
}
double default_magnitude(const RotaryScaling& scaling) {
  return scaling.type == Type::yarn ? yarn_magnitude(scaling.factor)
                                    : longrope_magnitude(scaling.factor, scaling.original_positions);
}

/// Returns the positions of the first training. Some families have them beside rope_scaling.
std::int64_t original_positions(const Config& config, const Config& rope, const ModelSpec& spec) {
  const std::string key = "original_max_position_embeddings";
  return config.has(key) ? config.size(key) : rope.size_or(key, spec.max_positions);
}

double extension(const Config& rope, const RotaryScaling& scaling, const ModelSpec& spec) {
  return rope.positive_or(
      "factor", static_cast<double>(spec.max_positions) / static_cast<double>(scaling.original_positions));
}

void read_llama3(const Config& rope, RotaryScaling& scaling) {
  scaling.low_frequency_factor = rope.positive("low_freq_factor");
  scaling.high_frequency_factor = rope.positive("high_freq_factor");
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    rope.refuse("high_freq_factor", fmt::format("above low_freq_factor, {}", scaling.low_frequency_factor));
  scaling.original_positions = rope.size("original_max_position_embeddings");
}

void read_yarn(const Config& config, const Config& rope, const ModelSpec& spec, RotaryScaling& scaling) {
  scaling.original_positions = original_positions(config, rope, spec);
  scaling.factor = extension(rope, scaling, spec);
  scaling.beta_fast = rope.positive_or("beta_fast", scaling.beta_fast);
  scaling.beta_slow = rope.positive_or("beta_slow", scaling.beta_slow);
  scaling.truncate = rope.flag_or("truncate", true);
  scaling.attention_factor = default_magnitude(scaling);
  if (rope.has("mscale") && rope.has("mscale_all_dim"))
    scaling.attention_factor = yarn_magnitude(scaling.factor, rope.positive("mscale")) /
                               yarn_magnitude(scaling.factor, rope.positive("mscale_all_dim"));
  scaling.attention_factor = rope.positive_or("attention_factor", scaling.attention_factor);
}

void read_longrope(const Config& config, const Config& rope, const ModelSpec& spec, double partial_factor,
                   RotaryScaling& scaling) {
  scaling.original_positions = original_positions(config, rope, spec);
  scaling.factor = extension(rope, scaling, spec);
  const auto features = static_cast<std::int64_t>(static_cast<double>(spec.head_dim) * partial_factor);
  scaling.short_factors = rope.positive_list("short_factor", ceil_div(features, 2));
  scaling.long_factors = rope.positive_list("long_factor", ceil_div(features, 2));
  scaling.attention_factor = rope.positive_or("attention_factor", default_magnitude(scaling));
}

/// Returns nothing if the frequencies are not scaled.
std::optional<RotaryScaling> read_scaling(const Config& config, const Config& rope, const ModelSpec& spec,
                                          double partial_factor) {
  const std::string key = rope.has("rope_type") ? "rope_type" : "type";  // "type" is the older name
  if (rope.has(key) && rope.value(key) == "dynamic")
    rope.refuse(key,
                "\"default\", \"linear\", \"llama3\", \"yarn\", \"longrope\"; dynamic NTK computes other "
                "frequencies for each length of a sequence, so a trained model would not be one function");
  rope.require(key, {"default", "linear", "llama3", "yarn", "longrope", "su"});
  if (key == "rope_type" && rope.has("type")) rope.require("type", {rope.value(key)});
  if (!rope.has(key) || rope.value(key) == "default") return std::nullopt;

  RotaryScaling scaling;
  const std::string type = rope.value(key).get<std::string>();
  if (type == "longrope" || type == "su" ||
      rope.has("short_factor")) {  // "su" is an older name, "yarn" another
    scaling.type = Type::longrope;
    read_longrope(config, rope, spec, partial_factor, scaling);
  } else if (type == "yarn") {
    scaling.type = Type::yarn;
    read_yarn(config, rope, spec, scaling);
  } else {
    scaling.type = type == "linear" ? Type::linear : Type::llama3;
    scaling.factor = rope.positive("factor");
    if (scaling.type == Type::llama3) read_llama3(rope, scaling);
  }
  return scaling;
}

/// Reads the part of a head that rotates, from the top level or from rope_parameters.
double read_partial_factor(const Config& config, const RotaryDefaults& defaults, double otherwise) {
  if (!defaults.may_be_partial) config.require("partial_rotary_factor", {1.0});
  const double factor = config.positive_or("partial_rotary_factor", otherwise);
  if (factor > 1) config.refuse("partial_rotary_factor", "a number up to 1");
  return factor;
}

/// Writes a rope_type and its settings.
Json write_scaling(const std::optional<RotaryScaling>& scaling) {
  if (!scaling) return {{"rope_type", "default"}};
  Json json;
  switch (scaling->type) {
    case Type::linear:
      return {{"rope_type", "linear"}, {"factor", scaling->factor}};
    case Type::llama3:
      return {{"rope_type", "llama3"},
              {"factor", scaling->factor},
              {"low_freq_factor", scaling->low_frequency_factor},
              {"high_freq_factor", scaling->high_frequency_factor},
              {"original_max_position_embeddings", scaling->original_positions}};
    case Type::yarn:
      json = {{"rope_type", "yarn"},
              {"factor", scaling->factor},
              {"original_max_position_embeddings", scaling->original_positions},
              {"beta_fast", scaling->beta_fast},
              {"beta_slow", scaling->beta_slow}};
      if (!scaling->truncate) json["truncate"] = false;
      break;
    case Type::longrope:  // transformers 4 takes these three alone
      json = {{"type", "longrope"},
              {"short_factor", scaling->short_factors},
              {"long_factor", scaling->long_factors}};
      break;
  }
  if (scaling->attention_factor != default_magnitude(*scaling))
    json["attention_factor"] = scaling->attention_factor;
  return json;
}

}  // namespace

RotaryFrequencies read_rotary(const Config& config, const ModelSpec& spec, const RotaryDefaults& defaults) {
  RotaryFrequencies rotary;
  rotary.theta = config.positive_or("rope_theta", defaults.theta);
  rotary.partial_factor = read_partial_factor(config, defaults, defaults.partial_factor);
  for (const std::string key : {"rope_scaling", "rope_parameters"}) {
    if (!config.has(key)) continue;
    const Config rope = config.nested(key);
    rotary.partial_factor = read_partial_factor(rope, defaults, rotary.partial_factor);
    const std::optional<RotaryScaling> scaling = read_scaling(config, rope, spec, rotary.partial_factor);
    if (key == "rope_parameters" && config.has("rope_scaling") && scaling != rotary.scaling)
      config.refuse(key, fmt::format("{}, as the file's rope_scaling", config.value("rope_scaling").dump()));
    rotary.scaling = scaling;
    const double theta = rope.positive_or("rope_theta", rotary.theta);
    if (rope.has("rope_theta") && config.has("rope_theta") && theta != rotary.theta)
      rope.refuse("rope_theta", fmt::format("{}, as the file's own rope_theta", rotary.theta));
    rotary.theta = theta;
  }
  return rotary;
}

void write_rotary(const RotaryFrequencies& rotary, const ModelSpec& spec, Json& json) {
  json["rope_theta"] = rotary.theta;
  Json parameters = write_scaling(rotary.scaling);
  json["rope_scaling"] = rotary.scaling ? parameters : Json(nullptr);
  if (rotary.scaling && rotary.scaling->type == Type::longrope) {
    json["original_max_position_embeddings"] = rotary.scaling->original_positions;
    const double extension =
        static_cast<double>(spec.max_positions) / static_cast<double>(rotary.scaling->original_positions);
    if (rotary.scaling->factor != extension) json["rope_scaling"]["factor"] = rotary.scaling->factor;
  } else {  // for transformers 5, which takes rope_scaling first
    parameters["rope_theta"] = rotary.theta;
    if (rotary.partial_factor != 1) parameters["partial_rotary_factor"] = rotary.partial_factor;
    json["rope_parameters"] = parameters;
  }
  if (rotary.partial_factor != 1) json["partial_rotary_factor"] = rotary.partial_factor;
}

std::optional<LayerRotary> read_nested_rotary(const Config& config, const ModelSpec& spec,
                                              const RotaryDefaults& full, const RotaryDefaults& sliding) {
  if (!config.has("rope_parameters")) return std::nullopt;
  const Config kinds = config.nested("rope_parameters");
  if (!kinds.has("full_attention") && !kinds.has("sliding_attention")) return std::nullopt;
  const auto read = [&](const char* kind, const RotaryDefaults& defaults) {
    RotaryFrequencies rotary{.theta = defaults.theta, .partial_factor = defaults.partial_factor};
    if (!kinds.has(kind)) return rotary;
    const Config rope = kinds.nested(kind);
    rotary.theta = rope.positive_or("rope_theta", defaults.theta);
    rotary.partial_factor = read_partial_factor(rope, defaults, defaults.partial_factor);
    rotary.scaling = read_scaling(config, rope, spec, rotary.partial_factor);
    return rotary;
  };
  return LayerRotary{read("full_attention", full), read("sliding_attention", sliding)};
}

}  // namespace dt::model::hf
