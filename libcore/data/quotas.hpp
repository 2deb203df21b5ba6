#pragma once
// Which of several sources each sample of a mixture comes from, for any sample, without draws or history.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dt::data {

/// Sources in proportion to integer weights: of the first n samples, source s has ⌊n·w_s/W⌋ or ⌈n·w_s/W⌉,
/// W = Σ w, for every n. The order repeats after W / gcd(w) samples, so one period of it is worked out and
/// kept, 8 bytes a sample. Rounding n times each cumulative weight instead would need no period, but makes
/// counts that fall where there are three sources or more. Source: Baruah, Cohen, Plaxton & Varvel 1996,
/// "Proportionate Progress", on one processor: earliest deadline first.
class Quotas {
 public:
  static constexpr std::uint64_t max_period = std::uint64_t{1} << 20;
  static constexpr std::size_t max_sources = 256;

  /// Errors: usage, where a weight is 0, there are more than max_sources of them, or the period is longer
  /// than max_period.
  explicit Quotas(std::vector<std::uint64_t> weights);

  struct Place {
    std::size_t source;
    std::uint64_t index;  // among the source's own samples
  };
  Place at(std::uint64_t sample) const;
  /// How many of the run's first `num_samples` samples come from a source.
  std::uint64_t count(std::size_t source, std::uint64_t num_samples) const;

  /// In lowest terms: each source's samples of a period.
  const std::vector<std::uint64_t>& weights() const { return weights_; }
  std::uint64_t period() const { return slots_.size(); }

 private:
  void fill();
  struct Slot {
    std::uint32_t source;
    std::uint32_t index;
  };
  std::vector<std::uint64_t> weights_;
  std::vector<Slot> slots_;  // of one period
};

}  // namespace dt::data
