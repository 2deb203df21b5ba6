#pragma once
// Maximal update parametrization (muP): initial values and learning rates by the width of the model, with
// which the best --lr of a narrow model is the best of wider ones.
// Source: Yang et al. 2022 (Tensor Programs V), tables 3 and 8.

#include <cstdint>
#include <string>

#include "kernels/optimizer_step.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "plan/requests.hpp"

namespace dt::plan {

/// The factors of a parameter. Weight decay keeps the rate that it has without them.
struct MupFactors {
  double init = 1;  // multiplies the initial values
  double lr = 1;    // multiplies the learning rate

  bool operator==(const MupFactors&) const = default;
};

/// The parametrization of a model relative to a narrower one, its base. Both differ in width alone: in the
/// hidden size and, in proportion, the MLP size and the number of heads or the head size.
///
/// A multiplier within the model would not be in its config.json. The factors of weights that it multiplies
/// train the same model without it: a multiplier c on a weight is a factor c of its initial values, and of
/// its learning rate c (Adam, Lion, Muon) or c² (SGD). So the final norm has the logits' multiplier, also if
/// the head is tied, and queries have that of attention scores.
/// Source: Yang et al. 2022, lemma J.1, for the equivalence; table 8 for the multiplier of logits;
/// definition 4.1 for that of scores.
class Mup {
 public:
  /// Makes the standard parametrization, whose factors are 1.
  Mup() = default;
  /// Errors: usage, naming the option, for an optimizer without a rule and for a model that cannot hold the
  /// multipliers.
  Mup(const MupRequest& request, const model::ModelSpec& spec, kernels::OptimizerKind optimizer);

  MupFactors factors(const model::ParameterTable& table, int param) const;
  /// Return the sizes of the base, or 0 in the standard parametrization.
  std::int64_t base_width() const { return base_width_; }
  std::int64_t base_head_dim() const { return base_head_dim_; }

 private:
  std::int64_t base_width_ = 0, base_head_dim_ = 0;
  double width_ = 1, head_dim_ = 1;  // ratios of the model to its base
  std::string scores_;               // part of the names of the parameters that have the scores' multiplier
  double table_power_ = 0, matrix_power_ = 0, multiplier_power_ = 0;  // as in the optimizer's rule
};

}  // namespace dt::plan
