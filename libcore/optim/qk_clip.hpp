#pragma once
// QK-clip: scales down the weights of attention heads whose scores are too large, after an update.

#include <cmath>
#include <cstdint>

namespace dt::optim {

/// The largest attention scores of a step, over all layers, heads and tokens.
struct AttentionScores {
  double max_score = 0;
  std::int64_t num_clipped_heads = 0;  // heads with a score above the threshold
};

/// The factors of one head's weights and biases.
struct QkClipFactors {
  double query = 1, key = 1;
};

/// Returns the factors that lower a head's largest score of a step to `threshold`. The score is scale · q·k
/// before a soft cap. The factors are 1 if the score is not above the threshold. For a head with keys of its
/// own, queries and keys get the same factor. If several query heads share a key head, only queries are
/// scaled, as Kimi K2 does with its shared rotary keys: a factor of a shared key would change heads that need
/// none.
/// Source: Kimi Team 2025 (Kimi K2), section 2.1 and algorithm 1.
inline QkClipFactors qk_clip_factors(double max_score, double threshold, bool shares_keys) {
  if (!(max_score > threshold)) return {};
  const double factor = threshold / max_score;
  return shares_keys ? QkClipFactors{factor, 1} : QkClipFactors{std::sqrt(factor), std::sqrt(factor)};
}

}  // namespace dt::optim
