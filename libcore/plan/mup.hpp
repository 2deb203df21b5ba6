#pragma once
// Maximal update parametrization (muP): factors of initial values and learning rates that depend on the width
// of the model. With them, the best --lr of a narrow model is also the best one of wider models.
// Source: Yang et al. 2022 (Tensor Programs V), tables 3 and 8.

#include <cstdint>
#include <string>

#include "kernels/optimizer_step.hpp"
#include "model/model_spec.hpp"
#include "model/parameter_table.hpp"
#include "plan/requests.hpp"

namespace dt::plan {

/// The factors of a parameter. They do not change the rate of weight decay.
struct MupFactors {
  double init = 1;  // multiplies the initial values
  double lr = 1;    // multiplies the learning rate

  bool operator==(const MupFactors&) const = default;
};

/// The parametrization of a model relative to a narrower one, its base. Both differ in width alone: in the
/// hidden size and, in proportion, the MLP size and the number of heads or the head size.
///
/// config.json could not express a multiplier within the model. Factors of the multiplied weights train the
/// same model without a multiplier. A multiplier c of a weight is equivalent to a factor c of its initial
/// values and a factor of its learning rate: c for Adam, Lion and Muon, c² for SGD. So the final norm takes
/// the multiplier of the logits, also if the head is tied, and queries take the multiplier of attention
/// scores.
/// Source: Yang et al. 2022: lemma J.1 (equivalence), table 8 (multiplier of the logits), definition 4.1
/// (multiplier of scores).
class Mup {
 public:
  /// Makes the standard parametrization, whose factors are 1.
  Mup() = default;
  /// Errors: usage, naming the option, for an optimizer without a rule and for a model that cannot hold the
  /// multipliers.
  Mup(const MupRequest& request, const model::ModelSpec& spec, kernels::OptimizerKind optimizer);

  MupFactors factors(const model::ParameterTable& table, int param) const;
  /// Return the sizes of the base model, or 0 in the standard parametrization, which a base of the model's
  /// own sizes gives, too.
  std::int64_t base_width() const { return base_width_; }
  std::int64_t base_head_dim() const { return base_head_dim_; }

 private:
  std::int64_t base_width_ = 0, base_head_dim_ = 0;
  double width_ = 1, head_dim_ = 1;  // ratios of the model to its base
  std::string scores_;               // part of the names of parameters that take the scores' multiplier
  double table_power_ = 0, matrix_power_ = 0, multiplier_power_ = 0;  // as in the optimizer's rule
};

}  // namespace dt::plan
