#pragma once
// Steps of one rank that holds all units, as tests make and hold them to their rules.

#include <algorithm>
#include <span>

#include "parallel/builders.hpp"
#include "parallel/validator.hpp"

namespace dt_test {

/// What training of one rank goes by: one micro-batch after the other, each forward then backward.
inline dt::parallel::Pipeline without_stages(int num_units, int num_micro_batches) {
  return {dt::parallel::one_f_one_b(1, num_micro_batches), {{0, num_units}}};
}

/// As often as `rounds` says where ranks reduce each micro-batch's gradients.
inline dt::parallel::ActionList build_training_step(const dt::parallel::StepShape& shape) {
  const int rounds = shape.reduces_each_micro_batch() ? shape.rounds : shape.num_micro_batches;
  return build_training_steps(shape, without_stages(shape.num_units, std::max(1, rounds))).front();
}

/// Forwards only; as often as `rounds` says where weights are gathered.
inline dt::parallel::ActionList build_evaluation(const dt::parallel::StepShape& shape) {
  const int rounds = shape.gathers() ? shape.rounds : shape.num_micro_batches;
  return build_evaluations(shape, without_stages(shape.num_units, std::max(1, rounds))).front();
}

/// Error{internal}: the list breaks a rule of validate_training_steps().
inline void validate_training_step(const dt::parallel::ActionList& list,
                                   const dt::parallel::StepShape& shape) {
  validate_training_steps(std::span(&list, 1), std::span(&shape, 1), without_stages(shape.num_units, 1));
}

}  // namespace dt_test
