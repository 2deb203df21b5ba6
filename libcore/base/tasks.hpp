#pragma once
// Tasks of one srun step that share a command's work. Nothing passes between them.

#include <string>

namespace dt {

struct Task {
  int number = 0;  // SLURM_PROCID
  int count = 1;
};

/// {0, 1} outside srun; a batch script's own process is not one of its job's tasks. Errors: environment.
Task this_task();

/// What the tasks of a step have in common, and no other step or later start of its job; "" outside srun.
std::string this_step();

}  // namespace dt
