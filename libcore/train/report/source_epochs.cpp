#include "train/report/source_epochs.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/text/text.hpp"
#include "checkpoint/manifest.hpp"
#include "data/read/loader.hpp"
#include "data/read/mixture.hpp"
#include "plan/plan.hpp"

namespace dt::train {

std::vector<SourceEpochs> source_epochs(const data::Mixture& mixture, std::int64_t sequence_length,
                                        std::uint64_t samples) {
  if (mixture.size() == 1) return {};
  const std::vector<data::Sampler> samplers = data::samplers_of(mixture, 0, sequence_length);
  std::vector<SourceEpochs> sources;
  for (std::size_t s = 0; s < mixture.size(); ++s) {
    sources.push_back({mixture.source_name(s), mixture.interleave().weights()[s],
                       mixture.interleave().count(s, samples), samplers[s].num_windows()});
  }
  return sources;
}

std::vector<SourceEpochs> source_epochs_at_end(const data::Mixture& mixture, const plan::Plan& plan,
                                               const checkpoint::TrainingState& state) {
  const std::int64_t steps = std::max<std::int64_t>(0, plan.total_steps - state.step);
  return source_epochs(mixture, plan.sequence_length,
                       state.samples_consumed + static_cast<std::uint64_t>(steps * plan.global_batch));
}

std::string describe(const SourceEpochs& source, const data::Mixture& mixture) {
  return fmt::format("weight {} of {}: {}, {:.3g} epochs", source.weight, mixture.interleave().period(),
                     pluralize(source.samples, "sample"), source.epochs());
}

}  // namespace dt::train
