#include "parallel/state/gradient_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {

/// Returns whether this is the embedding's gradient of a tied table. It has values for the tokens
/// that a step saw and zeros elsewhere, and is read once. (Buffers that are read or written whole
/// are slower in small pages.)
bool is_beside_another(const LocalGroup& group, const model::UnitSpec& unit) {
  return group.holders.size() > 1 && unit.kind == model::UnitKind::embedding;
}

}  // namespace

GradientStore::GradientStore(Device device, const LocalTable& local, const Precision& precision,
                             const LanePlan& plan, const Groups& ranks)
    : local_(local), dtype_(precision.gradient), wire_(precision.wire()), ranks_(ranks), pool_(device) {
  for (const LocalGroup& group : local.groups()) {
    const bool is_alone = !group.sharding.shards_optimizer() && !ranks.has_replicas() && plan.depth() <= 1;
    std::vector<Holder>& holders = groups_.emplace_back();
    for (const int unit : group.holders) {
      Holder holder;
      if (group.sharding.shards_gradients()) {
        holder.shard =
            Buffer(device, static_cast<std::size_t>(group.owned_range.count) * dtype_bytes(dtype_));
      } else {
        const bool is_mostly_zero =
            is_alone && is_beside_another(group, local.table().units()[to_index(unit)]);
        holder.sum.emplace(device, group.numel, dtype_, plan, is_mostly_zero ? Pages::sparse : Pages::huge);
      }
      holders.push_back(std::move(holder));
    }
    if (local.has_remote_tied_end(group)) {
      Holder& other = holders.emplace_back();
      other.shard = Buffer(device, static_cast<std::size_t>(group.owned_range.count) * dtype_bytes(dtype_));
    }
  }
}

Buffer GradientStore::acquire(std::int64_t numel, DType dtype) {
  return pool_.acquire(static_cast<std::size_t>(numel) * dtype_bytes(dtype));
}

Tensor GradientStore::flat(const Buffer& buffer, std::int64_t numel) const {
  return Tensor(buffer, dtype_, Shape{numel});
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

void GradientStore::start_step(const Context& context) {
  for (std::vector<Holder>& holders : groups_) {
    for (Holder& holder : holders) {
      if (holder.sum) holder.sum->start(context);
      holder.has_sum = holder.is_reduced = holder.is_final = false;
      holder.works.clear();
    }
  }
  is_complete_ = false;
}

std::vector<Tensor> GradientStore::unit_gradients(const Context& context, int unit,
                                                  std::int64_t micro_batch) {
  std::vector<Tensor> wholes(groups_.size());
  while (in_flight_.size() > max_reductions_in_flight) finish_oldest(context);
  for (const int group : local_.groups_of(unit)) {
    Holder& holder = holder_of(group, unit);
    if (holder.sum) {
      wholes[to_index(group)] = holder.sum->accumulator(context, micro_batch);
      continue;
    }
    DT_CHECK(!holder.full.data(), "unit {} has gradients that were not reduced", unit);
    holder.full = acquire(numel(group), dtype_);
    wholes[to_index(group)] = flat(holder.full, numel(group));
    kernels::zero(context, wholes[to_index(group)]);
  }
  std::vector<Tensor> gradients;
  for (const int index : local_.params_of(unit)) {
    const LocalParam& param = local_.param(index);
    gradients.push_back(param.view_in_full(wholes[to_index(param.group)]));
  }
  return gradients;
}

void GradientStore::finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) {
  for (const int group : local_.groups_of(unit)) {
    Holder& holder = holder_of(group, unit);
    if (holder.sum) holder.sum->finish(context, micro_batch);
  }
}

void GradientStore::warm_up_reduce(const Context& context, int unit) {
  for (const int group : local_.groups_of(unit)) {
    Holder& holder = holder_of(group, unit);
    if (holder.sum) holder.sum->skip_all();
  }
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

void GradientStore::reduce(const Context& context, int unit) {
  std::vector<Reduction> reductions;
  for (const int group : local_.groups_of(unit)) {
    Holder& holder = holder_of(group, unit);
    DT_CHECK(!holder.sum || !holder.is_reduced, "unit {} is reduced twice", unit);
    holder.is_reduced = true;
    if (holder.sum) {
      all_reduce_full(context, group, holder);
      continue;
    }
    while (in_flight_.size() > max_reductions_in_flight) finish_oldest(context);
    reductions.push_back(start_reduce_scatter(context, group, holder));
  }
  if (!reductions.empty()) in_flight_.push_back(std::move(reductions));
}

/// Runs `body`, which starts or waits for an operation. Its time counts as communication; what is
/// computed before and after it does not.
template <class Body>
void GradientStore::communicate(const Body& body) {
  ranks_.exposed_time().measure(body);
}

void GradientStore::wait_for(Holder& holder, const Context& context) {
  if (holder.works.empty()) return;
  communicate([&] {
    for (const comm::Work& work : holder.works) work.wait(context);
  });
  holder.works.clear();
}

Tensor GradientStore::cast_to_wire(const Context& context, const Tensor& values, Buffer& wire) {
  if (wire_ == dtype_ || values.numel() == 0) return values;
  wire = acquire(values.numel(), wire_);
  const Tensor rounded(wire, wire_, values.shape());
  kernels::cast(context, values, rounded);
  return rounded;
}

void GradientStore::cast_from_wire(const Context& context, Buffer& wire, std::int64_t begin,
                                   const Tensor& target) {
  if (!wire.data()) return;
  if (target.numel() > 0) {
    const std::size_t from = static_cast<std::size_t>(begin) * dtype_bytes(wire_);
    kernels::cast(context, Tensor(wire, wire_, target.shape(), from), target);
  }
  pool_.release(std::move(wire));
}

void GradientStore::all_reduce_full(const Context& context, int group, Holder& holder) {
  const bool is_divided = sharding(group).shards_optimizer();
  if (!is_divided && !ranks_.has_replicas()) return;
  const Range mine = owned_range(group);
  const Tensor moved = cast_to_wire(context, holder.sum->total(), holder.wire);
  communicate([&] {
    holder.works.push_back(is_divided
                               ? ranks_.shards()->reduce_scatter(moved, moved.flat(mine.begin, mine.count),
                                                                 comm::Reduction::sum, shard_granule)
                               : ranks_.replicas()->all_reduce(moved, moved));
  });
}

/// A rank without a micro-batch adds −0, which changes no bit of the others' sum.
GradientStore::Reduction GradientStore::start_reduce_scatter(const Context& context, int group,
                                                             Holder& holder) {
  if (!holder.full.data()) {
    holder.full = acquire(numel(group), dtype_);
    kernels::fill(context, -0.0, flat(holder.full, numel(group)));
  }
  const Range mine = owned_range(group);
  Reduction reduction{&holder, group, std::move(holder.full), {}, {}, {}};
  if (holder.has_sum) reduction.shard = acquire(mine.count, dtype_);
  const Buffer& target = holder.has_sum ? reduction.shard : holder.shard;
  holder.has_sum = true;
  const Tensor moved = cast_to_wire(context, flat(reduction.full, numel(group)), reduction.wire);
  const Tensor arrives =
      reduction.wire.data() ? moved.flat(mine.begin, mine.count) : flat(target, mine.count);
  communicate([&] {
    reduction.work = ranks_.shards()->reduce_scatter(moved, arrives, comm::Reduction::sum, shard_granule);
  });
  return reduction;
}

void GradientStore::finish_oldest(const Context& context) {
  for (Reduction& reduction : in_flight_.front()) {
    communicate([&] { reduction.work.wait(context); });
    const Range mine = owned_range(reduction.group);
    const Tensor sum = flat(reduction.holder->shard, mine.count);
    const bool is_first = !reduction.shard.data();
    const Tensor arrived = is_first ? sum : flat(reduction.shard, mine.count);
    cast_from_wire(context, reduction.wire, mine.begin, arrived);
    if (!is_first) kernels::add(context, sum, arrived, sum);
    pool_.release(std::move(reduction.full));
    pool_.release(std::move(reduction.shard));
  }
  in_flight_.pop_front();
}

Tensor GradientStore::shard_of(int group, const Holder& holder) const {
  const Range mine = owned_range(group);
  return holder.sum ? holder.sum->total().flat(mine.begin, mine.count) : flat(holder.shard, mine.count);
}

void GradientStore::wait_reductions(const Context& context) {
  while (!in_flight_.empty()) finish_oldest(context);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    const Range& mine = owned_range(static_cast<int>(group));
    for (Holder& holder : groups_[group]) {
      wait_for(holder, context);
      if (holder.wire.data())
        cast_from_wire(context, holder.wire, mine.begin, holder.sum->total().flat(mine.begin, mine.count));
    }
  }
}

/// Starts the sums over replicas of the parts that they all hold.
void GradientStore::sum_over_replicas(const Context& context, int group) {
  for (Holder& holder : groups_[to_index(group)]) {
    DT_CHECK(holder.is_reduced, "a holder of group {} has not been reduced", name(group));
    if (holder.is_final || !sharding(group).shards_optimizer() || !ranks_.has_replicas()) continue;
    const Tensor moved = cast_to_wire(context, shard_of(group, holder), holder.wire);
    communicate([&] { holder.works.push_back(ranks_.replicas()->all_reduce(moved, moved)); });
  }
}

void GradientStore::finish_replicas(const Context& context, int group) {
  for (Holder& holder : groups_[to_index(group)]) {
    wait_for(holder, context);
    cast_from_wire(context, holder.wire, 0, shard_of(group, holder));
  }
}

comm::Communicator& GradientStore::tensor_ranks(TensorSum over) const {
  comm::Communicator* ranks = over == TensorSum::all ? ranks_.tensor() : ranks_.tensor_replicas();
  DT_CHECK(ranks, "tensor-parallel ranks' gradients are to be summed, and they have no group");
  return *ranks;
}

/// Starts the sums of the gradients of which tensor-parallel ranks have only parts. Each part is
/// then already summed over the other ranks.
void GradientStore::sum_over_tensor(const Context& context, int group) {
  finish_replicas(context, group);
  for (Holder& holder : groups_[to_index(group)]) {
    if (holder.is_final) continue;
    const Tensor part = shard_of(group, holder);
    for (const auto& [over, run] : local_.group(group).tensor_sums) {
      const Tensor values = part.flat(run.begin - owned_range(group).begin, run.count);
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
  return shard_of(group, groups_[to_index(group)].back());
}

Tensor GradientStore::remote_tied_gradient() {
  const int group = local_.tied_group();
  Holder& other = groups_[to_index(group)].back();
  other.is_reduced = other.is_final = true;
  return shard_of(group, other);
}

/// Adds the two ends of a tied table. The last holder's gradient takes the sum, as the first
/// holder's, the embedding's, is mostly zero.
void GradientStore::add_holders(const Context& context, int group) {
  finish_tensor(context, group);
  const std::vector<Holder>& holders = groups_[to_index(group)];
  const Tensor total = shard_of(group, holders.back());
  for (std::size_t h = 0; h + 1 < holders.size(); ++h)
    kernels::add(context, total, shard_of(group, holders[h]), total);
}

void GradientStore::complete(const Context& context) {
  wait_reductions(context);
  const auto num_groups = static_cast<int>(groups_.size());
  for (int group = 0; group < num_groups; ++group) sum_over_replicas(context, group);
  for (int group = 0; group < num_groups; ++group) sum_over_tensor(context, group);
  for (int group = 0; group < num_groups; ++group) add_holders(context, group);
  is_complete_ = true;
}

Tensor GradientStore::shard(int group) const {
  DT_CHECK(is_complete_, "the gradient of group {} is not complete", name(group));
  return shard_of(group, groups_[to_index(group)].back());
}

std::size_t GradientStore::bytes() const {
  std::size_t total = 0;
  for (const std::vector<Holder>& holders : groups_) {
    for (const Holder& holder : holders) total += holder.sum ? holder.sum->bytes() : holder.shard.bytes();
  }
  return total;
}

}  // namespace dt::parallel
