#include "data/read/weighted_interleave.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"

namespace dt::data {

namespace {

std::vector<std::uint64_t> in_lowest_terms(std::vector<std::uint64_t> weights) {
  std::uint64_t divisor = 0;
  for (const std::uint64_t weight : weights) divisor = std::gcd(divisor, weight);
  for (std::uint64_t& weight : weights) weight /= divisor;
  return weights;
}

std::uint64_t period_of(const std::vector<std::uint64_t>& weights) {
  std::uint64_t sum = 0;
  for (const std::uint64_t weight : weights) sum += std::min(weight, WeightedInterleave::max_period + 1);
  if (sum <= WeightedInterleave::max_period) return sum;
  throw Error(ErrorKind::usage,
              fmt::format("weights of a mixture add up to more than {} in lowest terms",
                          WeightedInterleave::max_period),
              "round them, to six decimals of a whole for instance");
}

}  // namespace

WeightedInterleave::WeightedInterleave(std::vector<std::uint64_t> weights) {
  if (weights.empty() || weights.size() > max_sources)
    throw usage_error("a mixture of {} sources; 1 to {} are possible", weights.size(), max_sources);
  if (std::ranges::count(weights, 0) > 0) throw usage_error("a weight of 0 in a mixture");
  weights_ = in_lowest_terms(std::move(weights));
  slots_.resize(period_of(weights_));
  fill();
}

/// Fills the period's slots. Sample j of a source may take slots from ⌊j·W/w⌋ on, and must come
/// before its deadline ⌈(j+1)·W/w⌉. Each slot takes the eligible sample with the earliest deadline;
/// ties go to the first source.
void WeightedInterleave::fill() {
  std::vector<std::uint32_t> counts(weights_.size());
  const auto deadline = [&](std::size_t s) {
    return ceil_div((counts[s] + std::uint64_t{1}) * period(), weights_[s]);
  };
  for (std::uint64_t n = 0; n < period(); ++n) {
    std::size_t next = weights_.size();
    for (std::size_t s = 0; s < weights_.size(); ++s) {
      const bool may_come = counts[s] * period() < (n + 1) * weights_[s];
      if (may_come && (next == weights_.size() || deadline(s) < deadline(next))) next = s;
    }
    DT_CHECK(next < weights_.size(), "no source for sample {}", n);
    slots_[n] = {static_cast<std::uint32_t>(next), counts[next]++};
  }
}

WeightedInterleave::SourcePosition WeightedInterleave::at(std::uint64_t sample) const {
  const Slot& slot = slots_[sample % period()];
  return {slot.source, sample / period() * weights_[slot.source] + slot.index};
}

std::uint64_t WeightedInterleave::count(std::size_t source, std::uint64_t num_samples) const {
  const std::uint64_t whole = num_samples / period() * weights_[source];
  for (std::uint64_t n = num_samples % period(); n-- > 0;) {
    if (slots_[n].source == source) return whole + slots_[n].index + 1;
  }
  return whole;
}

}  // namespace dt::data
