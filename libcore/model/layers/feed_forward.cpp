#include "model/layers/feed_forward.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::model {

std::int64_t max_feed_forward_shards(const ModelSpec& spec) {
  std::int64_t most = spec.feed_forward[0]->max_shards(spec);
  for (std::int64_t layer = 1; layer < spec.layers; ++layer)
    most = std::min(most, spec.feed_forward[layer]->max_shards(spec));
  return most;
}

std::vector<AuxiliaryLoss> auxiliary_losses(const ModelSpec& spec) {
  std::vector<AuxiliaryLoss> all;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    for (AuxiliaryLoss& loss : spec.feed_forward[layer]->auxiliary_losses(spec)) {
      const auto same = std::ranges::find(all, loss.name, &AuxiliaryLoss::name);
      if (same == all.end())
        all.push_back(std::move(loss));
      else
        DT_CHECK(*same == loss, "two coefficients of the loss '{}'", loss.name);
    }
  }
  return all;
}

}  // namespace dt::model
