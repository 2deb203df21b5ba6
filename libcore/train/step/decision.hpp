#pragma once
// The decision point. All ranks combine their reports once a step, just before the optimizer. What
// a rank learns alone takes effect only there, so that all ranks act on the same bits.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/numeric/exact_sum.hpp"
#include "comm/communicator.hpp"
#include "model/layers/auxiliary_loss.hpp"
#include "optim/qk_clip.hpp"
#include "run/save/save_target.hpp"

namespace dt::train {

/// One rank's contribution.
struct LocalStepReport {
  /// `num_auxiliary_losses` is the model's. `num_scores` is the number of heads of all layers if the step
  /// needs their largest attention scores, otherwise 0. Both are equal on all ranks.
  explicit LocalStepReport(std::size_t num_auxiliary_losses = 0, std::size_t num_scores = 0)
      : auxiliary(num_auxiliary_losses), max_scores(num_scores, -std::numeric_limits<double>::infinity()) {}

  ExactSum nll;                     // over the rank's targets
  std::vector<ExactSum> auxiliary;  // terms of each auxiliary loss of the model that the rank counts
  ExactSum squared_norm;            // over the gradient elements that the rank counts
  std::vector<double> max_scores;   // largest attention score of each head of each layer
  std::uint64_t data_digest = 0;    // digest of the samples that the rank counts; sums mod 2⁶⁴
  std::uint64_t head_digest = 0;    // the same digest, computed by last stages
  std::int64_t next_targets = 0;    // targets that the rank counts in the next step, if they vary
  int signal = 0;                   // a request to stop, or 0
  bool output_failed = false;       // a line of metrics or a row of the table could not be written
  bool superseded = false;          // a newer generation has taken the run over
  run::SaveProgress save;           // progress of the save in flight
  /// Returns the bytes that all_reduce() sends, as the recorder counts them.
  static std::int64_t bytes(std::size_t num_auxiliary_losses = 0, std::size_t num_scores = 0);
  /// Replaces the report by the sum over all ranks, and the scores by their maximum over all ranks.
  /// Numerics: exact, so that the order of ranks does not matter.
  /// Collective: all ranks.
  void all_reduce(comm::Communicator& world);
};

/// An auxiliary loss of a step: Σ terms ÷ the step's tokens, or its targets.
struct AuxiliaryValue {
  model::AuxiliaryLoss loss;
  double value = 0;
};

/// The decision that every rank acts on.
struct Decision {
  /// Returns what the step minimizes: the loss, and the auxiliary losses with their coefficients. It is
  /// not finite if one of them is not.
  double total_loss() const;

  double loss = 0;  // Σ nll ÷ the step's targets
  std::vector<AuxiliaryValue> auxiliary{};
  std::optional<optim::AttentionScores> attention{};  // with QK-clip
  std::int64_t targets = 0;  // targets of the step, on all ranks; if 0, its loss proves nothing
  double grad_norm = 0;
  double grad_scale = 1;    // combines clipping and the division by the loss scale
  bool finite = true;       // total loss and norm are finite; otherwise the optimizer must not run
  bool skip = false;        // gradients are not finite, but may be at a lower loss scale
  bool stop = false;        // save and stop after this step
  int stop_signal = 0;      // signal that requested the stop, or 0
  bool superseded = false;  // end without a trace
  run::SaveProgress save;
  std::uint64_t data_digest = 0;
};

/// `loss_scale` is the factor of the gradients. `auxiliary` are the model's auxiliary losses, whose terms
/// are divided by `num_tokens`, or by `num_targets` if they are of targets.
Decision decide(const LocalStepReport& combined, std::int64_t num_targets, double clip_norm,
                double loss_scale = 1, std::span<const model::AuxiliaryLoss> auxiliary = {},
                std::int64_t num_tokens = 1);

}  // namespace dt::train
