#pragma once
// The decision point: what a rank learns alone takes effect only through one combination of all ranks'
// reports, just before the optimizer, so that all act on the same bits.

#include <cstdint>

#include "base/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "run/save_progress.hpp"

namespace dt::train {

/// What one rank contributes.
struct StepReport {
  ExactSum nll;                   // over the rank's targets
  ExactSum squared_norm;          // over the gradient elements that the rank answers for
  std::uint64_t data_digest = 0;  // of the samples that the rank answers for; sums mod 2⁶⁴
  std::uint64_t head_digest = 0;  // the same, as last stages read them
  std::int64_t next_targets = 0;  // of the next step, that the rank answers for; where they vary
  int signal = 0;                 // a request to stop, or 0
  bool output_failed = false;     // a line or row of the account could not be written
  bool superseded = false;        // a newer generation has taken the run over
  run::SaveProgress save;         // of the one under way
  /// That combining sends, as the recorder counts it.
  static std::int64_t bytes();
  /// Becomes the report of all ranks, who call it together. Exact, so that the order of ranks does not
  /// matter.
  void combine(comm::Communicator& world);
};

/// What every rank then does.
struct Decision {
  double loss = 0;           // Σ nll ÷ the step's targets
  std::int64_t targets = 0;  // of the step, on all ranks; without any its loss proves nothing
  double grad_norm = 0;
  double grad_scale = 1;    // clipping, and the loss scale taken off
  bool finite = true;       // loss and norm; otherwise the optimizer must not run
  bool skip = false;        // gradients are not finite, but may be at a lower loss scale
  bool stop = false;        // save and stop after this step
  int stop_signal = 0;      // that asked for it, or 0
  bool superseded = false;  // end without a trace
  run::SaveProgress save;
  std::uint64_t data_digest = 0;
};

/// `loss_scale` is what the gradients were multiplied with.
Decision decide(const StepReport& combined, std::int64_t num_targets, double clip_norm,
                double loss_scale = 1);

}  // namespace dt::train
