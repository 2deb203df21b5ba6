#pragma once
// The last action of a step: the optimizer's update of this rank's weights.

#include <functional>
#include <memory>
#include <vector>

#include "optim/optimizer.hpp"
#include "parallel/state/model_storage.hpp"
#include "plan/parameter_settings.hpp"
#include "tensor/context.hpp"
#include "train/step/factored_update.hpp"
#include "train/step/matrix_update.hpp"

namespace dt::train {

class WeightUpdate {
 public:
  /// Context and storage must outlive the object. The storage has the optimizer's state. `ema` is the decay
  /// of the average of the weights; if it is above 0, the storage has the average.
  WeightUpdate(const Context& context, parallel::ModelStorage& storage,
               const optim::OptimizerSettings& settings,
               const plan::ParameterSettings& parameter_settings = {}, double ema = 0);

  /// Makes one update. Gradients must be complete. `peak_lr` is the schedule's. Then calls `clip`, if
  /// present, which may change the new masters and weights, and updates the average.
  /// Collective: the ranks of the stage, if the optimizer updates whole matrices or factors moments.
  void run(const kernels::OptimizerStep& step, double peak_lr, const std::function<void()>& clip = {});

 private:
  void update_ranges(const kernels::OptimizerStep& step);

  const Context& context_;
  parallel::ModelStorage& storage_;
  std::vector<std::vector<optim::ParameterRange>>
      ranges_;                      // by group: parameters that are updated by elements
  std::vector<std::size_t> kinds_;  // the kinds of state of these
  plan::ParameterSettings::Update of_matrices_;
  double ema_;
  std::unique_ptr<MatrixUpdate> matrices_;
  std::unique_ptr<FactoredUpdate> factored_;  // updates all parameters
};

}  // namespace dt::train
