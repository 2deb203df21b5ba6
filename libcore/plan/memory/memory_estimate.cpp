#include "plan/memory/memory_estimate.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "comm/core/device_side.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/matmul/matmul.hpp"
#include "model/layers/feed_forward.hpp"
#include "model/units/unit.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "parallel/schedule/action.hpp"
#include "parallel/schedule/activation_peak.hpp"
#include "parallel/schedule/pipeline.hpp"
#include "parallel/state/factored_layout.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/matrix_plan.hpp"
#include "parallel/state/mesh.hpp"
#include "plan/action_lists.hpp"
#include "plan/attention.hpp"
#include "plan/memory/nccl_groups.hpp"
#include "plan/plan.hpp"

namespace dt::plan {

namespace {

class PinnedRingUse {
 public:
  void add(std::size_t largest_operation) {
    bytes_ += comm::PinnedLimits().max_lane_bytes(largest_operation);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Returns the bytes of a micro-batch's rows with all their features.
std::size_t rows_bytes(const Plan& plan) {
  return storage_bytes(plan.precision.compute, plan.micro_batch * plan.local_length() * plan.spec.hidden);
}

std::size_t largest_group(const parallel::LocalTable& local) {
  std::int64_t numel = 0;
  for (const parallel::LocalGroup& group : local.groups()) numel = std::max(numel, group.numel);
  return static_cast<std::size_t>(numel);
}

void add_data(const Plan& plan, const parallel::LocalTable& local, PinnedRingUse& lanes) {
  if (plan.layout.data_ranks() == 1) return;
  const std::size_t bytes = largest_group(local) *
                            std::max(dtype_bytes(plan.precision.wire()), dtype_bytes(plan.precision.compute));
  if (plan.layout.zero > 0) lanes.add(bytes);
  if (plan.layout.num_replicas() > 1) lanes.add(bytes);
}

/// Adds lanes for rows, and for sums of gradients of which tensor-parallel ranks have only parts.
void add_tensor(const Plan& plan, const parallel::LocalTable& local, PinnedRingUse& lanes) {
  if (plan.layout.tp == 1) return;
  std::map<parallel::TensorSum, std::size_t> largest;
  largest[parallel::TensorSum::all] = rows_bytes(plan);
  for (const parallel::LocalGroup& group : local.groups()) {
    for (const auto& [over, run] : group.tensor_sums) {
      const std::size_t bytes = storage_bytes(plan.precision.gradient, run.count);
      largest[over] = std::max(largest[over], bytes);
    }
  }
  for (const auto& [over, bytes] : largest) lanes.add(bytes);
}

/// Adds a lane each way, for keys and values of at most all heads.
void add_context(const Plan& plan, PinnedRingUse& lanes) {
  for (int way = 0; plan.layout.cp > 1 && way < 2; ++way) lanes.add(2 * rows_bytes(plan));
}

void add_channels(const Plan& plan, const parallel::LocalTable& local, const parallel::ActionList& list,
                  PinnedRingUse& lanes) {
  std::map<parallel::Channel, std::size_t> channels;
  for (const parallel::Action& action : list) {
    if (action.kind != parallel::ActionKind::send && action.kind != parallel::ActionKind::receive) continue;
    const bool is_rows =
        action.payload == parallel::Payload::activation || action.payload == parallel::Payload::gradient;
    channels[parallel::channel_of(action, plan.place.pp)] =
        is_rows ? rows_bytes(plan) : largest_group(local) * dtype_bytes(plan.precision.gradient);
  }
  for (const auto& [channel, bytes] : channels) lanes.add(bytes);
}

/// Adds lanes from and to all ranks of the stage, if they exchange whole matrices.
void add_stage(const Plan& plan, const parallel::LocalTable& local, PinnedRingUse& lanes) {
  if (!optim::updates_matrices(plan.optimizer)) return;
  const parallel::MatrixPlan matrices(local);
  std::int64_t largest = 0;
  for (const std::vector<parallel::PlannedMatrix>& round : matrices.rounds()) {
    for (const parallel::PlannedMatrix& matrix : round) largest = std::max(largest, matrix.most_held);
  }
  for (int lane = 0; lane < 2 * (matrices.num_ranks() - 1); ++lane)
    lanes.add(storage_bytes(plan.precision.master(), largest));
}

/// Returns the most bytes that a rank pins for messages of a GPU's memory, which pass through the host's:
/// the sum over all lanes (see comm::PinnedRing) of its list and its groups.
std::size_t peak_pinned_bytes(const Plan& plan, const parallel::LocalTable& local,
                              const parallel::ActionList& list) {
  PinnedRingUse lanes;
  add_data(plan, local, lanes);
  add_tensor(plan, local, lanes);
  add_context(plan, lanes);
  add_stage(plan, local, lanes);
  add_channels(plan, local, list, lanes);
  return lanes.bytes();
}

/// Approximate memory in which a matrix product and attention pack their operands, and what each
/// thread packs beside it.
constexpr std::size_t packing_bytes = std::size_t{28} << 20, packing_bytes_of_thread = std::size_t{2} << 20;

std::int64_t largest_feed_forward_matrix(const model::ModelSpec& spec) {
  std::int64_t most = 0;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    for (const model::ParamSpec& param : spec.feed_forward[layer]->parameters(spec))
      most = std::max(most, param.shape.numel());
  }
  return most;
}

/// Returns the most bytes that one kernel of a GPU takes in addition to its unit's scratch. The
/// kernels are: attention; a product's workspace, and the product itself if gradients are rounded;
/// sums of columns (a norm's take most); what the embedding sorts.
std::size_t kernel_bytes(const Plan& plan) {
  const model::ModelSpec& spec = plan.spec;
  const std::int64_t rows = plan.micro_batch * plan.local_length();
  const std::size_t value = std::max(dtype_bytes(plan.precision.compute), sizeof(float));
  const bool rounds =
      is_narrow_float(plan.precision.gradient) && plan.precision.compute != plan.precision.gradient;
  const auto largest = static_cast<std::size_t>(
      std::max(largest_feed_forward_matrix(spec), spec.hidden * spec.vocabulary) / plan.layout.tp);
  const std::size_t product =
      kernels::cuda::most_workspace_bytes + (rounds ? largest * sizeof(float) : std::size_t{0});
  const std::size_t sorted = 2 * static_cast<std::size_t>(rows) * sizeof(std::uint64_t);
  return std::max({attention_scratch_bytes(plan), product,
                   kernels::cuda::sums_of_runs_bytes(rows, 2 * spec.hidden, value), sorted});
}

using Units = std::vector<std::unique_ptr<model::Unit>>;

/// Returns the storage of a stage that trains on all of a step's micro-batches, or that evaluates.
parallel::StorageBytes storage_of(const Plan& plan, const parallel::LocalTable& local) {
  if (plan.micro_batches_per_step == 0)
    return parallel::ModelStorage::estimate(local, plan.precision, nullptr, {});
  const parallel::LanePlan lanes = plan.lane_plan();
  return parallel::ModelStorage::estimate(local, plan.precision, &lanes, plan.state_kinds());
}

std::vector<parallel::UnitBytes> bytes_of(const Plan& plan, const Units& units) {
  std::vector<parallel::UnitBytes> bytes;
  for (const auto& unit : units) {
    const Shape shape = unit->output_shape(plan.micro_batch, plan.local_length());
    bytes.push_back(
        {.output = shape.numel() * static_cast<std::int64_t>(dtype_bytes(unit->output_dtype())),
         .saved = static_cast<std::int64_t>(unit->saved_bytes(plan.micro_batch, plan.local_length())),
         .backward_handoff = static_cast<std::int64_t>(
             unit->backward_handoff_bytes(plan.device, plan.micro_batch, plan.local_length()))});
  }
  return bytes;
}

/// Returns the scratch memory of the optimizer's update.
std::size_t update_scratch_bytes(const Plan& plan, const parallel::LocalTable& local) {
  if (optim::factors_moments(plan.optimizer))
    return parallel::FactoredLayout(local).scratch_bytes(plan.threads);
  if (!optim::updates_matrices(plan.optimizer)) return 0;
  return parallel::MatrixPlan(local).scratch_bytes(plan.precision.master());
}

/// Returns the bytes of the largest attention scores: this rank's, and those of all heads, which ranks
/// exchange.
std::size_t score_bytes(const Plan& plan, const parallel::LocalTable& local) {
  if (plan.qk_clip == 0) return 0;
  std::int64_t blocks = 0;
  for (const int unit : local.units())
    blocks += local.table().units()[to_index(unit)].kind == model::UnitKind::block ? 1 : 0;
  const std::int64_t heads = plan.spec.query_heads;
  return storage_bytes(statistics_dtype(plan.precision.compute), blocks * heads / plan.layout.tp) +
         storage_bytes(DType::f64, plan.spec.layers * heads);
}

/// Returns the bytes of the current batch and of the one read ahead: tokens, labels and, if documents
/// are masked, their starts.
std::size_t batch_bytes(const Plan& plan) {
  const auto samples = static_cast<std::size_t>(plan.lane_plan().num_micro_batches() * plan.micro_batch);
  return (plan.mask_documents ? 6 : 4) * samples * static_cast<std::size_t>(plan.sequence_length) *
         sizeof(std::int32_t);
}

/// Returns the bytes of all buffers that a rank sums or gathers with other ranks.
std::size_t most_under_way_bytes(const Plan& plan, const parallel::LocalTable& local,
                                 const parallel::StorageBytes& storage) {
  if (plan.layout.data_ranks() == 1) return 0;
  std::size_t gradients = 0;
  for (const parallel::LocalParam& param : local.params())
    gradients += storage_bytes(plan.precision.wire(), param.piece.numel());
  return plan.layout.zero >= 2 ? storage.gathered : gradients;
}

/// Returns the bucket's bytes, or all that can be under way at a time if that is less.
std::size_t most_arriving_bytes(const Plan& plan, std::size_t most) {
  return plan.comm_bucket_bytes > 0 ? std::min(most, plan.comm_bucket_bytes) : most;
}

/// Returns how many of a rank's groups sum the gradients of a reduction.
int num_summing_groups(const model::Layout& layout, model::ReductionAxis reduction) {
  const bool has_shards = layout.zero > 0 && layout.group_size(reduction) > 1;
  return (has_shards ? 1 : 0) + (layout.num_replicas(reduction) > 1 ? 1 : 0);
}

/// Returns the staging memory of all groups that sum on streams (see comm::DeviceGroup).
std::size_t combining_bytes(const Plan& plan) {
  const model::Layout& layout = plan.layout;
  const bool has_shared_heads = plan.spec.key_value_heads > 1 && plan.spec.key_value_heads < layout.tp;
  const int groups = num_summing_groups(layout, model::ReductionAxis::data) +
                     (layout.ep > 1 ? num_summing_groups(layout, model::ReductionAxis::expert_data) : 0) +
                     (layout.tp > 1 ? 1 : 0) + (has_shared_heads ? 1 : 0) + (layout.cp > 1 ? 1 : 0);
  const std::size_t each = comm::Communicator::stream_staging_bytes(plan.comm_bucket_bytes);
  return static_cast<std::size_t>(groups) * each;
}

/// Returns what CUDA takes for a process on a GPU, in proportion to its SMs, and what libraries load
/// of their code. The code of cuBLASLt, cuDNN and dt is an allowance.
/// Source: free memory before and after a context was made, 555 MiB on 188 SMs and 107 MiB on 34
/// (ggml-org/llama.cpp#23604); SMs as in NVIDIA's whitepapers for A100, H100 and B200; NCCL 2.28's
/// kernels and tables, beside what nccl_memory counts for a communicator of one rank
/// (NVIDIA/nccl#2366).
std::size_t context_bytes(const Plan& plan) {
  constexpr std::size_t MiB = std::size_t{1} << 20;
  constexpr std::size_t of_sm = 3 * MiB, nccl_code = 96 * MiB, other_code = 64 * MiB;
  if (plan.device == Device::host()) return 0;
  const int major = plan.launch.gpu.major;
  const std::size_t sms = major == 8 ? 108 : major >= 10 ? 148 : 132;
  return sms * of_sm + other_code + (plan.launch.device_collectives.empty() ? 0 : nccl_code);
}

/// Returns whether there are ranks that do not write their share of a checkpoint themselves.
bool has_others_write(const Plan& plan) {
  const int per_node = plan.launch.ranks_per_node;  // 0: nodes have different numbers of ranks
  return plan.save.writers_per_node && plan.layout.size() > 1 &&
         (per_node == 0 || *plan.save.writers_per_node < per_node);
}

/// Returns the bytes that a rank writes of its state: replicas write equal parts of what they all hold. All
/// elements count alike.
std::size_t written_bytes(const parallel::LocalTable& local, std::size_t checkpoint) {
  std::array<std::size_t, model::reduction_axes.size()> elements{};
  for (const parallel::LocalGroup& group : local.groups())
    elements[static_cast<std::size_t>(group.reduction)] += static_cast<std::size_t>(group.state_numel());
  const std::size_t all = std::accumulate(elements.begin(), elements.end(), std::size_t{0});
  std::size_t bytes = 0;
  const double element_bytes = all == 0 ? 0 : static_cast<double>(checkpoint) / static_cast<double>(all);
  for (const model::ReductionAxis reduction : model::reduction_axes) {
    const auto held = static_cast<std::size_t>(
        element_bytes * static_cast<double>(elements[static_cast<std::size_t>(reduction)]));
    bytes += held / static_cast<std::size_t>(local.layout().num_replicas(reduction));
  }
  return bytes;
}

/// Returns the estimate without activations and without the memory that messages of a GPU pin.
MemoryEstimate held_bytes(const Plan& plan, const parallel::LocalTable& local) {
  MemoryEstimate memory{.storage = storage_of(plan, local)};
  memory.batches = batch_bytes(plan);
  memory.context = context_bytes(plan);
  const NcclBytes nccl = nccl_bytes(plan, local);
  memory.nccl = nccl.device, memory.nccl_host = nccl.host;
  if (plan.save.in_background || has_others_write(plan) || plan.device != Device::host())
    memory.checkpoint_copy = written_bytes(local, memory.storage.checkpoint);
  if (!plan.launch.device_collectives.empty())
    memory.reduce_buffers = combining_bytes(plan);
  else
    memory.receive_buffers = most_arriving_bytes(plan, most_under_way_bytes(plan, local, memory.storage));
  return memory;
}

/// Returns the largest sum over the ranks that share a place. Each rank takes what the ranks of its
/// stage take (`of_stage`), at the place whose number `place_of` gives.
template <class PlaceOf>
std::uint64_t most_of_any(const Plan& plan, const std::vector<std::uint64_t>& of_stage,
                          const PlaceOf& place_of) {
  std::map<int, std::uint64_t> bytes;
  std::uint64_t most = 0;
  for (int rank = 0; rank < plan.layout.size(); ++rank) {
    std::uint64_t& there = bytes[place_of(rank)];
    there += of_stage[static_cast<std::size_t>(plan.layout.coordinates_of(rank).pp)];
    most = std::max(most, there);
  }
  return most;
}

std::uint64_t most_of_hosts(const Plan& plan, const std::vector<std::uint64_t>& of_stage) {
  return most_of_any(plan, of_stage, [&](int rank) { return plan.launch.host_of(rank); });
}

std::uint64_t most_of_gpus(const Plan& plan, const std::vector<std::uint64_t>& of_stage) {
  return most_of_any(plan, of_stage, [&](int rank) { return plan.launch.gpu_of(rank); });
}

/// Returns the bytes of weights, gradients and the optimizer's state of a rank of each stage.
std::vector<std::uint64_t> state_bytes(const Plan& asked) {
  const model::ParameterTable table(asked.spec);
  Plan plan = busiest_rank_plan(asked, 0);
  std::vector<std::uint64_t> bytes;
  for (int stage = 0; stage < plan.layout.pp; ++stage) {
    plan.place.pp = stage;
    const parallel::StorageBytes storage =
        storage_of(plan, parallel::LocalTable(table, plan.layout, plan.place));
    bytes.push_back(storage.weights + storage.gradients + storage.optimizer);
  }
  return bytes;
}

}  // namespace

std::vector<MemoryEstimate> estimate_memory(const Plan& asked) {
  const model::ParameterTable table(asked.spec);
  const model::TensorParallelOps ops(
      parallel::tensor_parallel_shard(asked.layout, busiest_rank_plan(asked, 0).place));
  const Units units = model::make_units(Device::host(), asked.spec, table, asked.precision.compute,
                                        asked.saved_activations(), ops, asked.z_loss);
  const std::vector<parallel::UnitBytes> bytes = bytes_of(asked, units);
  Plan plan = busiest_rank_plan(asked, 0);
  std::vector<MemoryEstimate> stages;
  for (const parallel::ActionList& list : training_lists(plan)) {
    plan.place.pp = static_cast<int>(stages.size());
    const parallel::LocalTable local(table, plan.layout, plan.place);
    MemoryEstimate& memory = stages.emplace_back(held_bytes(plan, local));
    memory.activations =
        static_cast<std::size_t>(parallel::activation_peak_bytes(list, bytes)) +
        std::max(scratch_bytes(plan, units, local.units()), update_scratch_bytes(plan, local)) +
        score_bytes(plan, local);
    memory.workspaces = workspace_bytes(plan);
    if (plan.device != Device::host() && plan.launch.device_collectives.empty())
      memory.pinned = peak_pinned_bytes(plan, local, list);
  }
  return stages;
}

std::uint64_t host_memory_bytes(const Plan& plan, const std::vector<MemoryEstimate>& stages) {
  std::vector<std::uint64_t> bytes;
  const bool is_host = plan.device == Device::host();
  for (const MemoryEstimate& memory : stages) bytes.push_back(is_host ? memory.total() : memory.host_bytes());
  return most_of_hosts(plan, bytes);
}

std::uint64_t host_state_bytes(const Plan& plan) {
  return most_of_hosts(plan, state_bytes(plan));
}

std::uint64_t gpu_memory_bytes(const Plan& plan) {
  if (plan.micro_batches_per_step == 0) return most_of_gpus(plan, state_bytes(plan));
  const bool is_on_paper = plan.launch.gpu_free_bytes == 0;
  std::vector<std::uint64_t> bytes;
  for (const MemoryEstimate& memory : estimate_memory(plan))
    bytes.push_back(memory.device_bytes() + memory.batches + (is_on_paper ? memory.context : 0));
  return most_of_gpus(plan, bytes);
}

std::size_t scratch_bytes(const Plan& plan, const std::vector<std::unique_ptr<model::Unit>>& units,
                          const std::vector<int>& own_units) {
  std::size_t scratch = 0;
  for (const int unit : own_units)
    scratch = std::max(scratch, units[static_cast<std::size_t>(unit)]->scratch_bytes(
                                    plan.device, plan.micro_batch, plan.local_length()));
  if (plan.device != Device::host()) return scratch;
  return scratch + packing_bytes + packing_bytes_of_thread * static_cast<std::size_t>(plan.threads);
}

std::size_t workspace_bytes(const Plan& plan) {
  return plan.device == Device::host() ? 0 : kernel_bytes(plan);
}

}  // namespace dt::plan
