#pragma once
// Models whose blocks have each form that families use, and some combinations that none uses.

#include <string>
#include <vector>

#include "model/model_spec.hpp"

namespace dt::test {

struct BlockForm {
  std::string name;
  model::ModelSpec spec;
};

/// Returns the forms of a model that has RMS norms on the inputs of branches.
inline std::vector<BlockForm> block_forms(const model::ModelSpec& base) {
  std::vector<BlockForm> forms;
  const auto add = [&](const char* name) -> model::ModelSpec& {
    forms.push_back({name, base});
    return forms.back().spec;
  };
  const auto share_norm = [](model::ModelSpec& s) {
    s.norm = model::Norm::layer_norm;
    s.norm_bias = false;
    s.parallel_branches = s.shared_norm = true;
  };
  model::ModelSpec& gemma = add("around");
  gemma.norm_placement = model::NormPlacement::around;
  gemma.norm_weight_plus_one = true;
  gemma.embedding_scale = 1.7;
  add("after").norm_placement = model::NormPlacement::after;
  model::ModelSpec& neox = add("parallel");
  neox.norm = model::Norm::layer_norm;
  neox.parallel_branches = true;
  share_norm(add("shared"));
  model::ModelSpec& granite = add("scaled");
  granite.residual_scale = 0.3;
  granite.embedding_scale = 1.7;
  model::ModelSpec& scaled_around = add("scaled around");
  scaled_around.norm_placement = model::NormPlacement::around;
  scaled_around.residual_scale = 0.3;
  model::ModelSpec& scaled_shared = add("scaled shared");
  share_norm(scaled_shared);
  scaled_shared.residual_scale = 0.3;
  return forms;
}

}  // namespace dt::test
