#include "train/model_runtime.hpp"

#include <algorithm>

#include "model/initialise.hpp"
#include "tensor/host_tensor.hpp"
#include "train/context_share.hpp"

namespace dt::train {

ModelRuntime::ModelRuntime(const plan::Plan& plan, Purpose purpose, const parallel::Groups& groups)
    : spec_(plan.spec),
      table_(plan.spec),
      local_(table_, plan.layout, plan.place),
      context_(plan.threads, plan.device),
      lanes_(purpose == Purpose::training ? std::optional(plan.lanes()) : std::nullopt),
      seam_(plan.layout, plan.place, groups, plan.tp_chunks),
      units_(model::make_units(context_.device(), plan.spec, table_, plan.precision.compute, plan.kept(),
                               seam_)),
      storage_(context_.device(), local_, plan.precision, lanes_ ? &*lanes_ : nullptr, groups),
      executor_(context_, units_, storage_, &seam_),
      sequence_length_(plan.sequence_length) {
  if (groups.control()) computes_on_.emplace(groups.control()->engine(), context_);
  context_.set_arithmetic(plan.arithmetic);
  executor_.set_overlap(plan.overlap);
  seam_.set_overlap(plan.overlap);
  if (!groups.is_alone() && plan.overlap) context_.set_poll([this] { executor_.poll(); });
  for (std::int64_t b = 0; b < plan.micro_batch; ++b) {
    for (std::int64_t t = 0; t < sequence_length_; ++t) positions_.push_back(static_cast<std::int32_t>(t));
  }
}

void ModelRuntime::initialise_weights(std::uint64_t seed) {
  for (const parallel::LocalParam& param : local_.params()) {
    storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local_.spec(param), seed, piece, values, context_.threads());
    });
  }
}

void ModelRuntime::load_weights(const interchange::WeightSource& source) {
  for (const parallel::LocalParam& param : local_.params()) {
    storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
      source.read(local_.spec(param).name, piece, values);
    });
  }
}

std::vector<model::MicroBatch> ModelRuntime::micro_batches(data::Batch& batch, std::int64_t size) const {
  std::vector<model::MicroBatch> list;
  if (local_.layout().cp > 1) take_context_share(batch, size, local_.layout(), local_.place());
  const std::int64_t length = batch.sequence_length;
  for (std::int64_t first = 0; first < batch.num_samples; first += size) {
    const std::int64_t count = std::min(size, batch.num_samples - first);
    const auto rows = [&](std::vector<std::int32_t>& values) {
      return host_tensor(values).flat(first * length, count * length);
    };
    model::MicroBatch micro_batch;
    micro_batch.batch = count;
    micro_batch.sequence = length;
    micro_batch.tokens_R = rows(batch.tokens_BT);
    micro_batch.labels_R = rows(batch.labels_BT);
    // Kernels only read positions; Tensor has no const view.
    micro_batch.positions_R = batch.positions_BT.empty()
                                  ? Tensor(const_cast<std::int32_t*>(positions_.data()), DType::i32,
                                           Shape{count * length}, Device::host())
                                  : rows(batch.positions_BT);
    if (!batch.first_BT.empty()) micro_batch.first_R = rows(batch.first_BT);
    micro_batch.samples_B =
        std::span(batch.samples_B).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    list.push_back(micro_batch);
  }
  return list;
}

}  // namespace dt::train
