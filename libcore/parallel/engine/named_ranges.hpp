#pragma once
// Names actions in profilers, which draw what host and device do.

#include "parallel/schedule/step_observer.hpp"
#include "tensor/device/accelerator.hpp"

namespace dt::parallel {

class NamedRanges final : public StepObserver {
 public:
  void on_action_begin(const Action& action) override { accelerator().begin_range(to_string(action)); }
  void on_action_end(const Action&, const ActionTimes&) override { accelerator().end_range(); }
};

}  // namespace dt::parallel
