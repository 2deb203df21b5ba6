#pragma once
// Adafactor's update, for which the ranks of a stage sum over rows, columns and matrices.

#include <span>
#include <vector>

#include "base/numeric/exact_sum.hpp"
#include "kernels/factored_moments.hpp"
#include "optim/optimizer.hpp"
#include "parallel/state/factored_layout.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/parameter_settings.hpp"
#include "tensor/context.hpp"

namespace dt::train {

/// Updates the weights that this rank holds. All ranks of the stage have the moments of all rows and columns,
/// and update them in the same way.
/// Numerics: equal gradients give equal bits in any layout. Ranks divide only sums over elements, and these
/// are sums of integers. Nothing else depends on more than one element.
class FactoredUpdate {
 public:
  /// Context and storage must outlive the object. The storage has Adafactor's state.
  /// Errors: internal, the ranks of the stage hold different elements, and Groups::stage() is absent.
  FactoredUpdate(const Context& context, parallel::ModelStorage& storage,
                 const plan::ParameterSettings& settings);

  /// Makes one update. Gradients must be complete.
  /// Collective: the ranks of the stage.
  void run(const kernels::OptimizerStep& step);

  const parallel::FactoredLayout& layout() const { return layout_; }

 private:
  struct Param {
    const parallel::FactoredParam* factored = nullptr;
    const parallel::LocalParam* local = nullptr;
    plan::ParameterSettings::Update own;
  };

  /// Returns this rank's elements of a parameter. `shard` holds the owned range of the parameter's group.
  kernels::HeldElements held(const Param& param, const Tensor& shard) const;
  kernels::HeldElements gradient(const Param& param) const;
  /// Returns the direction of a parameter's update. `lines` are the factors of all lines.
  kernels::Direction direction(const Param& param, double grad_scale, std::span<const double> lines) const;
  void exchange(const Tensor& values, Reduction reduction) const;

  /// Sets the scale of each line, and the sum of its scaled squares.
  void sum_lines(std::span<double> scales, std::span<std::int64_t> sums) const;
  /// Updates the moments. Replaces the scales of the lines by their factors.
  void update_moments(const kernels::OptimizerStep& step, std::span<double> lines,
                      std::span<const std::int64_t> sums) const;
  /// The root mean squares of directions and weights, by matrix; 0 if the settings do not need them.
  struct Norms {
    std::vector<double> directions, weights;
  };
  Norms find_norms(const kernels::OptimizerStep& step, std::span<const double> lines) const;
  /// Adds sums over ranks, and returns the root means.
  std::vector<double> root_means(std::span<ExactSum> sums) const;

  const Context& context_;
  parallel::ModelStorage& storage_;
  parallel::FactoredLayout layout_;
  std::vector<Param> params_;                         // in the order of layout_.params()
  std::size_t row_kind_, column_kind_, vector_kind_;  // indices of kinds of state
};

}  // namespace dt::train
