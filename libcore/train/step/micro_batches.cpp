#include "train/step/micro_batches.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/check.hpp"
#include "model/layers/ring_attention.hpp"
#include "tensor/host_tensor.hpp"

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

/// Checks ids here for devices, whose kernels cannot report them. The host's kernels check each id
/// themselves.
void check_ids(data::Batch& batch, std::int64_t vocabulary) {
  constexpr std::int64_t lowest_label = std::numeric_limits<std::int32_t>::min();
  kernels::check_ids("tokens", host_tensor(batch.tokens_BT), 0, vocabulary);
  kernels::check_ids("labels", host_tensor(batch.labels_BT), lowest_label, vocabulary);
}

/// Returns an absent tensor for no values.
Tensor tensor_or_absent(std::vector<std::int32_t>& values) {
  return values.empty() ? Tensor() : host_tensor(values);
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

PinnedUploader::PinnedUploader(const Context& context)
    : context_(context),
      pool_(std::make_shared<comm::StagingPool>(Pages::pinned, std::numeric_limits<std::size_t>::max())) {}

PinnedUploader::~PinnedUploader() {
  try {
    if (!in_flight_.empty()) context_.synchronize();
  } catch (const std::exception&) {
    // A failed device no longer reads the memory. A device that hangs keeps it.
  }
}

void PinnedUploader::copy(std::span<const Tensor> rows, const Tensor& there) {
  std::erase_if(in_flight_, [](const auto& one) { return one.first->is_complete(); });
  comm::StagingPool::Block block = pool_->acquire(there.bytes());
  std::byte* to = block->data();
  for (const Tensor& values : rows) {
    if (!values) continue;
    std::memcpy(to, values.raw(), values.bytes());
    to += values.bytes();
  }
  DT_CHECK(to == block->data() + there.bytes(), "rows for {} bytes of a device", there.bytes());
  accelerator().copy(context_.stream(), there.raw(), block->data(), there.bytes());
  in_flight_.emplace_back(accelerator().record_event(context_.stream()), std::move(block));
}

MicroBatches::MicroBatches(const Context& context, parallel::BufferPool& pool, PinnedUploader& pinned,
                           data::Batch& batch, std::int64_t size, std::int64_t vocabulary,
                           const Tensor& positions_R)
    : pool_(pool) {
  std::array of_batch = {tensor_or_absent(batch.tokens_BT), tensor_or_absent(batch.labels_BT),
                         tensor_or_absent(batch.positions_BT), tensor_or_absent(batch.first_BT)};
  if (context.device() != Device::host()) {
    check_ids(batch, vocabulary);
    copy_to_device(pinned, of_batch);
  }
  const auto& [tokens, labels, positions, first_seen] = of_batch;
  const std::int64_t length = batch.sequence_length;
  for (std::int64_t first = 0; first < batch.num_samples; first += size) {
    const std::int64_t count = std::min(size, batch.num_samples - first);
    const auto rows = [&](const Tensor& values) {
      return values ? values.flat(first * length, count * length) : Tensor();
    };
    model::MicroBatch& micro_batch = list_.emplace_back();
    micro_batch.batch = count;
    micro_batch.sequence = length;
    micro_batch.tokens_R = rows(tokens);
    micro_batch.labels_R = rows(labels);
    micro_batch.positions_R = positions ? rows(positions) : positions_R.flat(0, count * length);
    micro_batch.first_R = rows(first_seen);
    micro_batch.samples_B =
        std::span(batch.samples_B).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }
}

MicroBatches::~MicroBatches() {
  pool_.release(std::move(memory_));
}

void MicroBatches::copy_to_device(PinnedUploader& pinned, std::span<Tensor> of_batch) {
  std::int64_t count = 0;
  for (const Tensor& values : of_batch) count += values ? values.numel() : 0;
  if (count == 0) return;
  memory_ = pool_.acquire(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  const Tensor there(memory_, DType::i32, Shape{count});
  pinned.copy(of_batch, there);
  std::int64_t begin = 0;
  for (Tensor& values : of_batch) {
    if (!values) continue;
    values = there.flat(begin, values.numel());
    begin += values.numel();
  }
}

}  // namespace dt::train
