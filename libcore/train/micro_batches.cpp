#include "train/micro_batches.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/check.hpp"
#include "kernels/elementwise.hpp"
#include "tensor/host_tensor.hpp"

namespace dt::train {

namespace {

/// Kernels of the host look at every id that they take; those of devices cannot say what they see.
void check_ids(data::Batch& batch, std::int64_t vocabulary) {
  constexpr std::int64_t lowest_label = std::numeric_limits<std::int32_t>::min();
  kernels::check_ids("tokens", host_tensor(batch.tokens_BT), 0, vocabulary);
  kernels::check_ids("labels", host_tensor(batch.labels_BT), lowest_label, vocabulary);
}

}  // namespace

MicroBatches::MicroBatches(const Context& context, parallel::BufferPool& pool, data::Batch& batch,
                           std::int64_t size, std::int64_t vocabulary, const Tensor& positions_R)
    : pool_(pool) {
  if (context.device() != Device::host()) check_ids(batch, vocabulary);
  const Tensor tokens = placed(context, batch.tokens_BT), labels = placed(context, batch.labels_BT),
               positions = placed(context, batch.positions_BT), first_seen = placed(context, batch.first_BT);
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
  for (Buffer& buffer : memory_) pool_.give(std::move(buffer));
}

Tensor MicroBatches::placed(const Context& context, std::vector<std::int32_t>& values) {
  if (values.empty()) return {};
  const Tensor here = host_tensor(values);
  if (context.device() == Device::host()) return here;
  const Tensor there(memory_.emplace_back(pool_.take(here.bytes())), here.dtype(), here.shape());
  kernels::copy(context, here, there);
  return there;
}

}  // namespace dt::train
