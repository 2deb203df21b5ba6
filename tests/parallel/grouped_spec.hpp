#pragma once
// A model small enough to count all its elements. Its heads and rows do not divide evenly.

#include "model/model_spec.hpp"

namespace dt_test {

/// Returns a model with 7 rows in its table, and 4 query and 2 key-value heads of dimension 2.
inline dt::model::ModelSpec grouped_spec(std::int64_t layers, bool tied) {
  dt::model::ModelSpec s = dt::model::load_model_spec("llama-tiny");
  s.layers = layers;
  s.hidden = 8;
  s.query_heads = 4;
  s.key_value_heads = 2;
  s.head_dim = 2;
  s.mlp_hidden = 9;
  s.vocabulary = 7;
  s.tied = tied;
  return s;
}

}  // namespace dt_test
