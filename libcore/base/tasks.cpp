#include "base/tasks.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

namespace {

int number_in(const char* name, int missing) {
  const auto text = environment_variable(name);
  if (!text) return missing;
  int value = -1;
  const auto end = text->data() + text->size();
  if (std::from_chars(text->data(), end, value).ptr != end || value < 0)
    throw environment_error("{} is '{}', not a number", name, *text);
  return value;
}

}  // namespace

Task this_task() {
  const Task task{number_in("SLURM_PROCID", 0), number_in("SLURM_STEP_NUM_TASKS", 1)};
  if (task.count <= 1) return {};
  if (task.number < task.count) return task;
  throw environment_error("SLURM_PROCID is {} in a step of {} tasks", task.number, task.count);
}

std::string this_step() {
  std::string step;
  for (const char* name : {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}) {
    if (const auto value = environment_variable(name)) step += (step.empty() ? "" : ".") + *value;
  }
  return step;
}

}  // namespace dt
