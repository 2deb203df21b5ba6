#include "train/step/micro_batches.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kernels/check.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

namespace {

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
