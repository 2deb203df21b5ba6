#include "train/step/context_share.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "model/layers/zigzag.hpp"

namespace dt::train {

namespace {

/// Returns the rank's elements of values_BT, micro-batch by micro-batch, chunk by chunk.
std::vector<std::int32_t> context_rows(const std::vector<std::int32_t>& values_BT, std::int64_t samples,
                                       std::int64_t size, const model::Zigzag& zigzag) {
  std::vector<std::int32_t> own;
  const std::int64_t length = samples == 0 ? 0 : static_cast<std::int64_t>(values_BT.size()) / samples;
  for (std::int64_t first = 0; first < samples; first += size) {
    for (int chunk = 0; chunk < model::Zigzag::num_chunks; ++chunk) {
      for (std::int64_t sample = first; sample < std::min(first + size, samples); ++sample) {
        const auto begin = values_BT.begin() + sample * length + zigzag.position(chunk);
        own.insert(own.end(), begin, begin + zigzag.length);
      }
    }
  }
  return own;
}

}  // namespace

void slice_context_rows(data::Batch& batch, std::int64_t size, const model::Layout& layout,
                        const model::MeshCoordinates& place) {
  DT_CHECK(batch.positions_BT.empty(), "a part of sequences of {} is divided again", batch.sequence_length);
  const std::int64_t chunks = std::int64_t{model::Zigzag::num_chunks} * layout.cp;
  DT_CHECK(batch.sequence_length % chunks == 0, "sequences of {} in {} chunks", batch.sequence_length,
           chunks);
  const model::Zigzag zigzag{batch.sequence_length / chunks, place.cp, layout.cp};
  std::vector<std::int32_t> positions_BT;
  for (std::int64_t i = 0; i < batch.num_samples * batch.sequence_length; ++i)
    positions_BT.push_back(static_cast<std::int32_t>(i % batch.sequence_length));
  batch.positions_BT = context_rows(positions_BT, batch.num_samples, size, zigzag);
  for (std::vector<std::int32_t>* values : {&batch.tokens_BT, &batch.labels_BT, &batch.first_BT}) {
    if (!values->empty()) *values = context_rows(*values, batch.num_samples, size, zigzag);
  }
  batch.sequence_length /= layout.cp;
}

}  // namespace dt::train
