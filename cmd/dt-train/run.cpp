#include "cmd/dt-train/run.hpp"

#include "train/dry_run.hpp"
#include "train/evaluate_only.hpp"
#include "train/run.hpp"

namespace dt::train_tool {

int run(const train::Settings& settings, const OptionTable& options, Console& console) {
  if (settings.eval_only) return train::evaluate_only(settings, console);
  if (settings.dry_run) return train::dry_run(settings, console);
  return train::run_training(settings, options.values(), console);
}

}  // namespace dt::train_tool
