#pragma once
// Tasks of one srun step that share a command's work. Nothing passes between them.

#include <optional>
#include <string>

#include "base/console.hpp"

namespace dt {

struct Task {
  int number = 0;  // SLURM_PROCID
  int count = 1;
};

/// Returns this process's place among the tasks that share its command, or {0, 1} where it works alone:
/// outside srun, or where it decides so. `wish` is --share-tasks or --no-share-tasks, if one was given.
/// Without a wish tasks share where slurmstepd itself started the tool, so that all have one command line,
/// and `reads_stdin` is false. A task decides by itself and at once: it asks no other task. Errors:
/// environment, where tasks share and Slurm's variables contradict each other.
Task sharing_task(std::optional<bool> wish, bool reads_stdin = false);

/// Returns whether this task leaves the whole work to task 0, and says so: for what tasks cannot divide.
bool is_left_to_first(const Task& task, Console& console);

/// Returns what the tasks of a step have in common, and no other step or later start of its job; "" outside
/// srun.
std::string this_step();

/// The help line of --share-tasks.
inline constexpr const char* share_tasks_help =
    "divide the work among the tasks of one srun, all of which give this command; default: on where srun "
    "starts the tool itself, off in a shell or container that srun starts";

}  // namespace dt
