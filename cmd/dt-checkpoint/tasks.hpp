#pragma once
// Tasks of one srun step that share a command's work. Nothing passes between them.

namespace dt::checkpoint_tool {

struct Task {
  int number = 0;  // SLURM_PROCID
  int count = 1;
};

/// {0, 1} outside srun; a batch script's own process is not one of its job's tasks.
Task this_task();

}  // namespace dt::checkpoint_tool
