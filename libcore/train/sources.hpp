#pragma once
// What a run takes from each dataset of a mixture.

#include <cstdint>
#include <string>
#include <vector>

#include "data/mixture.hpp"
#include "plan/plan.hpp"

namespace dt::train {

struct SourceShare {
  std::string name;  // the dataset's folder
  std::uint64_t weight = 0;
  std::uint64_t samples = 0;
  std::uint64_t windows = 0;  // samples of an epoch
  double epochs() const { return static_cast<double>(samples) / static_cast<double>(windows); }
};

/// Of a run's first `samples` samples, source by source; empty where there is one dataset alone. Errors: of
/// data::samplers_of.
std::vector<SourceShare> source_shares(const data::Mixture& mixture, std::int64_t sequence_length,
                                       std::uint64_t samples);

/// Until the plan's last step, for a run that stands at `state`.
std::vector<SourceShare> shares_by_the_end(const data::Mixture& mixture, const plan::Plan& plan,
                                           const checkpoint::TrainingState& state);

/// "weight 7 of 10: 2800 samples, 2.33 epochs".
std::string describe(const SourceShare& share, const data::Mixture& mixture);

}  // namespace dt::train
