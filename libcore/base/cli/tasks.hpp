#pragma once
// Tasks of one srun step that divide a command's work without communication.

#include <optional>
#include <string>

#include "base/cli/console.hpp"

namespace dt {

struct Task {
  int number = 0;  // SLURM_PROCID
  int count = 1;
};

/// Returns this process's place among the tasks that share its command. Returns {0, 1} if the process
/// works alone: outside srun, or by its own decision. `requested` is --share-tasks or --no-share-tasks,
/// if given. Otherwise tasks share if slurmstepd itself started the tool, so that all have one command
/// line, and `reads_stdin` is false. Each task decides at once, without communication.
/// Errors: environment if tasks share and Slurm's variables contradict each other.
Task current_task(std::optional<bool> requested, bool reads_stdin = false);

/// Returns whether this task leaves the whole work to task 0, and prints that it does. Use it for
/// work that tasks cannot divide.
bool is_idle_task(const Task& task, Console& console);

/// Returns a text that the tasks of a step share with no other step or later start of the job.
/// Returns "" outside srun.
std::string slurm_step_id();

/// Help line of --share-tasks.
inline constexpr const char* share_tasks_help =
    "divide the work among the tasks of an srun step; default: on if srun starts the tool itself";

/// Details of --share-tasks for the man page.
inline constexpr const char* share_tasks_details =
    "Each task of the step must run the same command. If srun starts a shell or a container that starts "
    "the tool, the default is off.";

}  // namespace dt
