#pragma once
// Checks the rules that a rank's list must keep to, action by action: a part of the validator.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel/schedule/action.hpp"
#include "parallel/schedule/builders.hpp"
#include "parallel/schedule/transfer_validator.hpp"

namespace dt::parallel {

/// Checks a rank's actions in turn, and records what the rank has done so far.
/// Errors: internal, naming the first action that is out of order.
class RankValidator {
 public:
  RankValidator(const StepShape& shape, const Pipeline& pipeline, int rank);

  void check(const Action& action);

  void check_end() const;

 private:
  static constexpr int num_kinds = 3;

  std::vector<bool>::reference done(ActionKind kind, int unit, int micro_batch);
  static void require(bool condition, const Action& action, const Action& earlier);
  static void require_new(bool condition, const Action& action);
  /// Marks an action done. It must not be done already.
  void mark_done(const Action& action);
  void require_done(const Action& action, ActionKind kind, int unit);

  std::vector<bool>::reference discarded(const Action& action);
  /// Requires the order of micro-batches, in which a unit's gradients are summed. The order fixes
  /// the bits.
  void require_in_order(const Action& action);

  /// Returns the number of reductions of each unit.
  int reductions() const {
    return shape_.reduces_each_micro_batch() ? std::max(1, shape_.max_micro_batches) : 1;
  }
  void require_gathered(const Action& action);
  void require_unit(const Action& action) const;
  bool is_last(int unit) const { return unit == num_units_ - 1; }
  /// Requires that earlier micro-batches are summed: if ranks divide gradients, whole ones of only
  /// one micro-batch are held.
  void require_reduced_before(const Action& action) const;

  void check_gather(const Action& action);
  void check_free(const Action& action);

  void check_forward(const Action& action);
  void check_discard(const Action& action);
  void check_recompute(const Action& action);
  void check_backward_input(const Action& action);
  void check_backward_weight(const Action& action);
  void check_reduce(const Action& action);

  void check_send(const Action& action);
  void check_receive(const Action& action);
  /// Checks that an exchange of the tied table, in either direction, comes at its time.
  void require_exchange(const Action& action);
  void check_control(const Action& action);

  TransferValidator transfers_;
  const StepShape shape_;
  int num_units_;
  int first_;
  int num_micro_batches_;
  std::vector<bool> done_;
  std::vector<bool> discarded_;
  std::vector<int> reduced_;  // number of reduces, by unit
  std::vector<bool> gathered_;
  bool controlled_ = false;
  bool stepped_ = false;
};

}  // namespace dt::parallel
