#include "plan/mup.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <iterator>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "model/parameter_class.hpp"

namespace dt::plan {

namespace {

using kernels::OptimizerKind;
using model::ParameterClass;

/// The powers of the width (as a ratio to the base) that multiply an optimizer's learning rates.
struct Rule {
  OptimizerKind optimizer;
  double table;       // for tables and vectors, where the width is the only size that grows
  double matrix;      // for matrices, where both sizes grow
  double multiplier;  // the power of a multiplier that is part of the weights
};

/// The table of the paper has SGD and Adam. Lion changes each weight by about the learning rate, as Adam
/// does. Muon changes a matrix by 0.2·√max(rows, columns) times an orthogonal matrix. The spectral norm of
/// this change must not grow with the width.
/// Source: Yang et al. 2022, table 8; Yang et al. 2023 (A Spectral Condition for Feature Learning),
/// condition 1.
constexpr Rule rules[] = {{OptimizerKind::adamw, 0, -1, 1},
                          {OptimizerKind::lion, 0, -1, 1},
                          {OptimizerKind::sgd, 1, 0, 2},
                          {OptimizerKind::muon, 0, -0.5, 1}};

const Rule& rule_of(OptimizerKind optimizer) {
  const auto* const found = std::ranges::find(rules, optimizer, &Rule::optimizer);
  if (found != std::end(rules)) return *found;
  std::vector<std::string_view> names;
  for (const Rule& rule : rules) names.push_back(name_of(rule.optimizer));
  throw Error(ErrorKind::usage,
              fmt::format("--mup-base-width has no rule for --optimizer {}", name_of(optimizer)),
              fmt::format("use one of: {}", fmt::join(names, ", ")));
}

/// Returns x to a power that is a multiple of 1/2, by operations that every machine rounds alike: initial
/// values depend on it.
double power(double x, double exponent) {
  double result = 1, left = std::abs(exponent);
  for (; left >= 1; --left) result *= x;
  if (left > 0) result *= std::sqrt(x);
  return exponent < 0 ? 1 / result : result;
}

}  // namespace

Mup::Mup(const MupRequest& request, const model::ModelSpec& spec, OptimizerKind optimizer) {
  if (!request.base_width) return;
  const Rule& rule = rule_of(optimizer);
  base_width_ = *request.base_width;
  base_head_dim_ = request.base_head_dim.value_or(spec.head_dim);
  width_ = static_cast<double>(spec.hidden) / static_cast<double>(base_width_);
  head_dim_ = static_cast<double>(spec.head_dim) / static_cast<double>(base_head_dim_);
  scores_ = spec.qk_norm == model::QkNorm::none ? ".attention.q." : ".attention.q_norm.";
  table_power_ = rule.table;
  matrix_power_ = rule.matrix;
  multiplier_power_ = rule.multiplier;
  if (spec.norm_weight_plus_one)
    throw usage_error(
        "--mup-base-width cannot be combined with a {} model: its norms multiply by 1 + weight, so they "
        "cannot hold the multiplier of the logits",
        spec.family);
  if (optimizer == OptimizerKind::muon && head_dim_ != 1 && spec.qk_norm == model::QkNorm::none)
    throw Error(ErrorKind::usage,
                fmt::format("--mup-base-head-dim {} differs from the model's head size {}: --optimizer muon "
                            "has one learning rate for all matrices",
                            base_head_dim_, spec.head_dim),
                "keep the head size and let the number of heads grow, or use --optimizer adamw");
  if (width_ == 1 && head_dim_ == 1) *this = Mup();
}

MupFactors Mup::factors(const model::ParameterTable& table, int param) const {
  if (base_width_ == 0) return {};
  const model::ParamSpec& spec = table.params()[to_index(param)];
  MupFactors factors;
  if (model::parameter_class(table, param) == ParameterClass::matrix) {
    factors = {power(width_, -0.5), power(width_, matrix_power_)};
  } else {
    const double size = spec.sums_over_tensor_ranks ? head_dim_ : width_;  // a norm of head_dim features
    factors.lr = power(size, table_power_);
  }
  double multiplier = 1;
  if (spec.name.starts_with("final_norm.")) multiplier = 1 / width_;
  if (spec.name.find(scores_) != spec.name.npos) multiplier = power(head_dim_, -0.5);
  factors.init *= multiplier;
  factors.lr *= power(multiplier, multiplier_power_);
  return factors;
}

}  // namespace dt::plan
