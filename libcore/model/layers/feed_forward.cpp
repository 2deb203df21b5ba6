#include "model/layers/feed_forward.hpp"

#include <algorithm>

namespace dt::model {

std::int64_t max_feed_forward_shards(const ModelSpec& spec) {
  std::int64_t most = spec.feed_forward[0]->max_shards(spec);
  for (std::int64_t layer = 1; layer < spec.layers; ++layer)
    most = std::min(most, spec.feed_forward[layer]->max_shards(spec));
  return most;
}

}  // namespace dt::model
