#pragma once
// Assigns each sample of a mixture to one of several sources, for any sample, without random draws
// or history.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt::data {

/// Assigns sources in proportion to integer weights. Of the first n samples, source s has ⌊n·w_s/W⌋
/// or ⌈n·w_s/W⌉, W = Σ w, for every n. The order repeats after W / gcd(w) samples. One period is
/// computed and kept, 8 bytes per sample. Rounding n times each cumulative weight would need no
/// period. But with three sources or more a source's count could then fall as n grows.
/// Source: Baruah, Cohen, Plaxton & Varvel 1996, "Proportionate Progress", on one processor:
/// earliest deadline first.
class WeightedInterleave {
 public:
  static constexpr std::uint64_t max_period = std::uint64_t{1} << 20;
  static constexpr std::size_t max_sources = 256;

  /// Errors: usage if a weight is 0, there are more than max_sources, or the period exceeds
  /// max_period.
  explicit WeightedInterleave(std::vector<std::uint64_t> weights);

  struct SourcePosition {
    std::size_t source;
    std::uint64_t index;  // number among the source's own samples
  };
  SourcePosition at(std::uint64_t sample) const;
  /// Returns how many of the run's first `num_samples` samples come from a source.
  std::uint64_t count(std::size_t source, std::uint64_t num_samples) const;

  /// Returns the weights in lowest terms, which are each source's samples per period.
  const std::vector<std::uint64_t>& weights() const { return weights_; }
  std::uint64_t period() const { return slots_.size(); }

 private:
  void fill();
  struct Slot {
    std::uint32_t source;
    std::uint32_t index;
  };
  std::vector<std::uint64_t> weights_;
  std::vector<Slot> slots_;  // one period
};

}  // namespace dt::data
