#include "train/step/model_runtime.hpp"

#include "kernels/elementwise.hpp"
#include "model/initialise.hpp"
#include "plan/memory/memory_estimate.hpp"
#include "tensor/host_tensor.hpp"
#include "train/step/micro_batches.hpp"

namespace dt::train {

ModelRuntime::ModelRuntime(const plan::Plan& plan, Purpose purpose, const parallel::Groups& groups)
    : spec_(plan.spec),
      table_(plan.spec),
      local_(table_, plan.layout, plan.place),
      context_(plan.threads, plan.device),
      lanes_(purpose == Purpose::training ? std::optional(plan.lane_plan()) : std::nullopt),
      tensor_parallel_ops_(plan.layout, plan.place, groups, plan.tp_chunks),
      units_(model::make_units(context_.device(), plan.spec, table_, plan.precision.compute,
                               plan.saved_activations(), tensor_parallel_ops_, plan.z_loss)),
      storage_(context_.device(), local_, plan.precision, lanes_ ? &*lanes_ : nullptr, groups,
               plan.state_kinds()),
      executor_(context_, units_, storage_, &tensor_parallel_ops_),
      batch_buffers_(context_.device()),
      uploader_(context_),
      num_positions_(plan.micro_batch * plan.sequence_length),
      positions_(context_.device(), static_cast<std::size_t>(num_positions_) * sizeof(std::int32_t)) {
  if (groups.control()) scoped_device_.emplace(groups.control()->engine(), context_);
  context_.set_arithmetic(plan.arithmetic);
  if (plan.device != Device::host() && purpose == Purpose::training) reserve_scratch(plan);
  executor_.set_overlap(plan.overlap);
  tensor_parallel_ops_.set_overlap(plan.overlap);
  const bool has_device_transport =
      groups.control() && groups.control()->has_device_transport();  // the poll checks them
  if (!groups.is_single_rank() && (plan.overlap || has_device_transport))
    context_.set_poll([this] { executor_.poll(); });
  std::vector<std::int32_t> positions;
  for (std::int64_t i = 0; i < num_positions_; ++i)
    positions.push_back(static_cast<std::int32_t>(i % plan.sequence_length));
  kernels::copy(context_, host_tensor(positions), Tensor(positions_, DType::i32, Shape{num_positions_}));
  context_.synchronize();
}

/// Allocates the most scratch memory that units and kernels use at once, and frees it. An arena
/// that grew within a step would keep both sizes until the next step, and freeing the smaller one
/// would wait for the device.
void ModelRuntime::reserve_scratch(const plan::Plan& plan) {
  const Arena::Scope scope(context_.scratch());
  const std::size_t bytes = plan::scratch_bytes(plan, units_, local_.units()) + plan::workspace_bytes(plan);
  context_.scratch().allocate(DType::u8, {static_cast<std::int64_t>(bytes)});
}

void ModelRuntime::initialise_weights(std::uint64_t seed, const plan::ParameterSettings& settings) {
  for (const parallel::LocalParam& param : local_.params()) {
    const double factor = settings.mup.factors(table_, param.param).init;
    storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
      model::initialise(local_.spec(param), seed, piece, values, context_.threads(), factor);
    });
  }
}

void ModelRuntime::load_weights(const convert::WeightSource& source) {
  for (const parallel::LocalParam& param : local_.params()) {
    storage_.set_weights(context_, param, [&](const Piece& piece, const Tensor& values) {
      source.read(local_.spec(param).name, piece, values);
    });
  }
}

MicroBatches ModelRuntime::micro_batches(data::Batch& batch, std::int64_t size) {
  if (local_.layout().cp > 1) slice_context_rows(batch, size, local_.layout(), local_.place());
  return MicroBatches(context_, batch_buffers_, uploader_, batch, size, spec_.vocabulary,
                      Tensor(positions_, DType::i32, Shape{num_positions_}));
}

}  // namespace dt::train
