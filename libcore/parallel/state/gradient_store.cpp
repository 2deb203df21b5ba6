#include "parallel/state/gradient_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

void SimulatedGradients::finish(std::optional<int> group) {
  wait_reductions();
  for (int number = 0; number < static_cast<int>(local_.groups().size()); ++number) {
    const LocalGroup& spec = local_.group(number);
    if ((group && *group != number) || is_final_.contains(number)) continue;
    if (!spec.sums_replicas_last || !ranks_.reduction(spec.reduction).has_replicas()) continue;
    for (std::size_t holder = 0; holder < spec.holders.size(); ++holder) hold_wire(spec.owned_range.count);
  }
  release_wires();
  if (group) is_final_.insert(*group);
}

GradientStore::GradientStore(Device device, const LocalTable& local, const Precision& precision,
                             const Groups& ranks)
    : local_(local), precision_(precision), ranks_(ranks), groups_(local.groups().size()), pool_(device) {
  for (int group = 0; group < num_groups(); ++group) {
    std::vector<Holder>& holders = groups_[to_index(group)];
    const bool has_remote_end = local.has_remote_tied_end(local.group(group));
    holders.resize(local.group(group).holders.size() + (has_remote_end ? 1 : 0));
    if (has_remote_end) allocate_shard(device, group, holders.back());
  }
}

void GradientStore::allocate_shard(Device device, int group, Holder& holder) {
  const std::int64_t count = owned_range(group).count;
  holder.shard_memory = Buffer(device, storage_bytes(precision_.gradient, count));
  holder.shard = flat(holder.shard_memory, count);
}

Buffer GradientStore::acquire(std::int64_t numel, DType dtype) {
  return pool_.acquire(storage_bytes(dtype, numel));
}

Tensor GradientStore::flat(const Buffer& buffer, std::int64_t numel) const {
  return Tensor(buffer, precision_.gradient, Shape{numel});
}

const std::string& GradientStore::name(int group) const {
  return local_.table().groups()[to_index(local_.group(group).group)].name;
}

GradientStore::Holder& GradientStore::holder_of(int group, int unit) {
  const std::vector<int>& units = local_.group(group).holders;
  const auto place = std::find(units.begin(), units.end(), unit);
  DT_CHECK(place != units.end(), "unit {} does not hold group {}", unit, name(group));
  return groups_[to_index(group)][static_cast<std::size_t>(place - units.begin())];
}

void GradientStore::start_step(const Context&) {
  cancel_works();
  for (std::vector<Holder>& holders : groups_) {
    for (Holder& holder : holders) holder.is_reduced = holder.is_final = false;
  }
  is_complete_ = false;
}

std::vector<Tensor> GradientStore::unit_gradients(const Context& context, int unit,
                                                  std::int64_t micro_batch) {
  std::vector<Tensor> fulls(groups_.size());
  for (const int group : local_.groups_of(unit))
    fulls[to_index(group)] = full_gradient(context, group, unit, micro_batch);
  std::vector<Tensor> gradients;
  for (const int index : local_.params_of(unit)) {
    const LocalParam& param = local_.param(index);
    gradients.push_back(param.view_in_full(fulls[to_index(param.group)]));
  }
  return gradients;
}

void GradientStore::warm_up_reduce(const Context& context, int unit) {
  reduce(context, unit);
  wait_reductions(context);
}

void GradientStore::warm_up_complete(const Context& context) {
  const bool has_other_end = std::ranges::any_of(
      local_.groups(), [&](const LocalGroup& group) { return local_.has_remote_tied_end(group); });
  if (has_other_end) remote_tied_gradient();
  complete(context);
  is_complete_ = false;
}

void GradientStore::wait_for(Holder& holder, const Context& context) {
  if (holder.works.empty()) return;
  communicate([&] {
    for (const comm::Work& work : holder.works) work.wait(context);
  });
  holder.works.clear();
}

Tensor GradientStore::cast_to_wire(const Context& context, const Tensor& values, Buffer& wire) {
  const DType dtype = precision_.wire();
  if (dtype == precision_.gradient || values.numel() == 0) return values;
  wire = acquire(values.numel(), dtype);
  const Tensor rounded(wire, dtype, values.shape());
  kernels::cast(context, values, rounded);
  return rounded;
}

void GradientStore::cast_from_wire(const Context& context, Buffer& wire, std::int64_t begin,
                                   const Tensor& target) {
  if (!wire.data()) return;
  if (target.numel() > 0) {
    const DType dtype = precision_.wire();
    const std::size_t from = storage_bytes(dtype, begin);
    kernels::cast(context, Tensor(wire, dtype, target.shape(), from), target);
  }
  pool_.release(std::move(wire));
}

void GradientStore::finish_works(const Context& context, int group, std::int64_t begin) {
  for (Holder& holder : groups_[to_index(group)]) {
    wait_for(holder, context);
    cast_from_wire(context, holder.wire, begin, holder.shard);
  }
}

void GradientStore::cancel_works() {
  for (std::vector<Holder>& holders : groups_) {
    for (Holder& holder : holders) holder.works.clear();
  }
}

/// Starts the sums over replicas of a group's shards, unless reduce() has summed over them.
void GradientStore::sum_over_replicas(const Context& context, int group) {
  const ReductionRanks& ranks = ranks_.reduction(local_.group(group).reduction);
  const bool has_sums = local_.group(group).sums_replicas_last && ranks.has_replicas();
  for (Holder& holder : groups_[to_index(group)]) {
    DT_CHECK(holder.is_reduced, "a holder of group {} has not been reduced", name(group));
    if (holder.is_final || !has_sums) continue;
    const Tensor moved = cast_to_wire(context, holder.shard, holder.wire);
    communicate([&] { holder.works.push_back(ranks.replicas->all_reduce(moved, moved)); });
  }
}

comm::Communicator& GradientStore::tensor_ranks(TensorSum over) const {
  comm::Communicator* ranks = over == TensorSum::all ? ranks_.tensor() : ranks_.tensor_replicas();
  DT_CHECK(ranks, "tensor-parallel ranks' gradients are to be summed, and they have no group");
  return *ranks;
}

/// Starts the sums of the gradients of which tensor-parallel ranks have only partial sums. Each partial sum
/// is then already summed over the other ranks.
void GradientStore::sum_over_tensor(const Context& context, int group) {
  finish_works(context, group, 0);
  for (Holder& holder : groups_[to_index(group)]) {
    if (holder.is_final) continue;
    for (const auto& [over, run] : local_.group(group).tensor_sums) {
      const Tensor values = holder.shard.flat(run.begin - owned_range(group).begin, run.count);
      communicate([&] { holder.works.push_back(tensor_ranks(over).all_reduce(values, values)); });
    }
  }
}

void GradientStore::finish_tensor(const Context& context, int group) {
  for (Holder& holder : groups_[to_index(group)]) {
    wait_for(holder, context);
    holder.is_final = true;
  }
}

Tensor GradientStore::finish_tied(const Context& context) {
  const int group = local_.tied_group();
  wait_reductions(context);
  sum_over_replicas(context, group);
  sum_over_tensor(context, group);
  finish_tensor(context, group);
  return groups_[to_index(group)].back().shard;
}

Tensor GradientStore::remote_tied_gradient() {
  Holder& other = groups_[to_index(local_.tied_group())].back();
  other.is_reduced = other.is_final = true;
  return other.shard;
}

/// Adds the two ends of a tied table. The last holder's gradient takes the sum, as the first
/// holder's, the embedding's, is mostly zero.
void GradientStore::add_holders(const Context& context, int group) {
  finish_tensor(context, group);
  const std::vector<Holder>& holders = groups_[to_index(group)];
  const Tensor& total = holders.back().shard;
  for (std::size_t h = 0; h + 1 < holders.size(); ++h) kernels::add(context, total, holders[h].shard, total);
}

void GradientStore::complete(const Context& context) {
  wait_reductions(context);
  for (int group = 0; group < num_groups(); ++group) sum_over_replicas(context, group);
  for (int group = 0; group < num_groups(); ++group) sum_over_tensor(context, group);
  for (int group = 0; group < num_groups(); ++group) add_holders(context, group);
  is_complete_ = true;
}

Tensor GradientStore::shard(int group) const {
  DT_CHECK(is_complete_, "the gradient of group {} is not complete", name(group));
  return groups_[to_index(group)].back().shard;
}

std::size_t GradientStore::bytes() const {
  std::size_t total = 0;
  for (const std::vector<Holder>& holders : groups_) {
    for (const Holder& holder : holders) total += holder.shard_memory.bytes();
  }
  return total;
}

}  // namespace dt::parallel
