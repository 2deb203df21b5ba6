#pragma once
// Builds and validates steps of one rank that holds all units.

#include <algorithm>
#include <span>

#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/validator.hpp"

namespace dt_test {

/// Returns the pipeline of one rank's training: one micro-batch after the other, each forward then
/// backward.
inline dt::parallel::Pipeline without_stages(int num_units, int num_micro_batches) {
  return {dt::parallel::one_f_one_b(1, num_micro_batches), {{0, num_units}}};
}

/// Builds one rank's training step, with `rounds` rounds if ranks reduce each micro-batch's
/// gradients.
inline dt::parallel::ActionList build_training_step(const dt::parallel::StepShape& shape) {
  const int rounds = shape.reduces_each_micro_batch() ? shape.max_micro_batches : shape.num_micro_batches;
  return build_training_steps(shape, without_stages(shape.num_units, std::max(1, rounds))).front();
}

/// Builds one rank's evaluation: forwards only, in `rounds` rounds if weights are gathered.
inline dt::parallel::ActionList build_evaluation(const dt::parallel::StepShape& shape) {
  const int rounds = shape.gathers_weights() ? shape.max_micro_batches : shape.num_micro_batches;
  return build_evaluations(shape, without_stages(shape.num_units, std::max(1, rounds))).front();
}

/// Validates one rank's training step.
/// Errors: internal, the list breaks a rule of validate_training_steps().
inline void validate_training_step(const dt::parallel::ActionList& list,
                                   const dt::parallel::StepShape& shape) {
  validate_training_steps(std::span(&list, 1), std::span(&shape, 1), without_stages(shape.num_units, 1));
}

}  // namespace dt_test
