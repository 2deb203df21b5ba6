#pragma once
// The exponential moving average of a rank's weights. It is stored with the optimizer's state.

#include "plan/plan.hpp"
#include "train/step/model_runtime.hpp"

namespace dt::train {

/// Sets the average to the weights (the masters). Does nothing if the storage has no average.
void start_average(const Context& context, const parallel::ModelStorage& storage);
/// Updates the average after a step: e = ema · e + (1 − ema) · w.
void update_average(const Context& context, double ema, const parallel::ModelStorage& storage);

/// The weights that the units compute with.
enum class ActiveWeights { current, average };

/// Makes units compute with the average, or with the current weights again. Calls must alternate. If there
/// are no separate masters, the weights and the average are exchanged. Otherwise the 16-bit weights are
/// rounded from the average or from the masters, which do not change. So the second call restores all bits.
/// Collective: all ranks that train.
void activate(ActiveWeights weights, ModelRuntime& runtime, const plan::Plan& plan);

}  // namespace dt::train
