#include "base/cli/tasks.hpp"

#include <charconv>
#include <fstream>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"

namespace dt {

namespace {

int number_in(const char* name, int missing) {
  const auto text = environment_variable(name);
  if (!text) return missing;
  int value = -1;
  const auto end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ptr != end || value < 0)
    throw environment_error("{} is '{}', expected a number", name, *text);
  return value;
}

/// Returns whether the parent process is Slurm's, not a shell that runs its own command in each
/// task.
bool slurm_started_this() {
  std::ifstream file("/proc/" + std::to_string(::getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "slurmstepd";
}

}  // namespace

Task current_task(std::optional<bool> requested, bool reads_stdin) {
  if (number_in("SLURM_STEP_NUM_TASKS", 1) <= 1) return {};
  if (!requested.value_or(!reads_stdin && slurm_started_this())) return {};
  const Task task{number_in("SLURM_PROCID", 0), number_in("SLURM_STEP_NUM_TASKS", 1)};
  if (task.number < task.count) return task;
  throw environment_error("SLURM_PROCID is {} in a step of {} tasks", task.number, task.count);
}

bool is_idle_task(const Task& task, Console& console) {
  if (task.number == 0) return false;
  console.info(
      "task {} of {} does nothing here, because task 0 does this work; with --no-share-tasks each task works "
      "alone",
      task.number, task.count);
  return true;
}

std::string slurm_step_id() {
  std::string step;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}) {
    if (const auto value = environment_variable(name)) step += (step.empty() ? "" : ".") + *value;
  }
  return step;
}

}  // namespace dt
