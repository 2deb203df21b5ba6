#pragma once
// Names actions in profilers, which draw what host and device do.

#include "parallel/step_observer.hpp"
#include "tensor/accelerator.hpp"

namespace dt::parallel {

class NamedRanges final : public StepObserver {
 public:
  void begins(const Action& action) override { accelerator().begin_range(to_string(action)); }
  void ended(const Action&, const ActionTimes&) override { accelerator().end_range(); }
};

}  // namespace dt::parallel
