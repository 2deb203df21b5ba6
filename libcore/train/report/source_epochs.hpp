#pragma once
// A run's samples from each dataset of a mixture.

#include <cstdint>
#include <string>
#include <vector>

namespace dt::checkpoint {
struct TrainingState;
}
namespace dt::data {
class Mixture;
}
namespace dt::plan {
struct Plan;
}

namespace dt::train {

struct SourceEpochs {
  std::string name;  // the dataset's folder
  std::uint64_t weight = 0;
  std::uint64_t samples = 0;
  std::uint64_t windows = 0;  // samples of an epoch
  double epochs() const { return static_cast<double>(samples) / static_cast<double>(windows); }
};

/// Returns what each source contributes to a run's first `samples` samples; empty if there is only one
/// dataset.
/// Errors: as data::samplers_of.
std::vector<SourceEpochs> source_epochs(const data::Mixture& mixture, std::int64_t sequence_length,
                                        std::uint64_t samples);

/// Returns the same until the plan's last step, for a run in `state`.
std::vector<SourceEpochs> source_epochs_at_end(const data::Mixture& mixture, const plan::Plan& plan,
                                               const checkpoint::TrainingState& state);

/// Returns "weight 7 of 10: 2800 samples, 2.33 epochs".
std::string describe(const SourceEpochs& source, const data::Mixture& mixture);

}  // namespace dt::train
