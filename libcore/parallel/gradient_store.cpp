#include "parallel/gradient_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"
#include "parallel/flat.hpp"

namespace dt::parallel {

namespace {

/// The embedding's gradient of a tied table: it has the tokens that a step saw, and zeros, and is read once.
/// (What is read or written whole is slower in small pages.)
bool is_beside_another(const model::GroupSpec& group, const model::UnitSpec& unit) {
  return group.holders.size() > 1 && unit.kind == model::UnitKind::embedding;
}

/// Micro-batches' sums over the ranks that may be under way while the next one's gradients are made.
constexpr std::size_t most_under_way = 1;

}  // namespace

GradientStore::GradientStore(const model::ParameterTable& table, const Precision& precision,
                             const LanePlan& plan, const Sharding& sharding)
    : table_(table),
      dtype_(precision.gradient),
      wire_(precision.wire()),
      sharding_(sharding),
      division_(sharding.division()) {
  const bool is_alone = !division_.divides_optimizer() && !sharding.has_replicas() && plan.depth() <= 1;
  for (const model::GroupSpec& spec : table.groups()) {
    std::vector<Holder>& holders = groups_.emplace_back();
    for (const int unit : spec.holders) {
      Holder holder;
      if (division_.divides_gradients()) {
        const std::int64_t held = division_.own(spec.numel).count;
        holder.part = Buffer(Device{}, static_cast<std::size_t>(held) * dtype_bytes(dtype_));
      } else {
        const bool is_mostly_zero = is_alone && is_beside_another(spec, table.units()[at(unit)]);
        holder.sum.emplace(spec.numel, dtype_, plan, is_mostly_zero ? Pages::sparse : Pages::huge);
      }
      holders.push_back(std::move(holder));
    }
  }
}

Buffer GradientStore::take(std::int64_t numel, DType dtype) {
  return pool_.take(static_cast<std::size_t>(numel) * dtype_bytes(dtype));
}

Tensor GradientStore::flat(const Buffer& buffer, std::int64_t numel) const {
  return Tensor(buffer.data(), dtype_, Shape{numel});
}

std::int64_t GradientStore::numel(int group) const {
  return table_.groups()[at(group)].numel;
}

GradientStore::Holder& GradientStore::holder_of(int group, int unit) {
  const std::vector<int>& units = table_.groups()[at(group)].holders;
  const auto place = std::find(units.begin(), units.end(), unit) - units.begin();
  return groups_[at(group)].at(static_cast<std::size_t>(place));
}

void GradientStore::start_step() {
  for (std::vector<Holder>& holders : groups_) {
    for (Holder& holder : holders) {
      if (holder.sum) holder.sum->start();
      holder.has_sum = holder.is_reduced = false;
      holder.work.reset();
    }
  }
  is_complete_ = false;
}

std::vector<Tensor> GradientStore::of_unit(const Context& context, int unit, std::int64_t micro_batch) {
  std::vector<Tensor> wholes(groups_.size());
  if (division_.divides_gradients()) {
    while (under_way_.size() > most_under_way) settle_oldest(context);
  }
  for (const int group : groups_of(table_, unit)) {
    Holder& holder = holder_of(group, unit);
    if (holder.sum) {
      wholes[at(group)] = holder.sum->current(context, micro_batch);
      continue;
    }
    DT_CHECK(!holder.whole.data(), "unit {} has gradients that were not reduced", unit);
    holder.whole = take(numel(group), dtype_);
    wholes[at(group)] = flat(holder.whole, numel(group));
    kernels::zero(context, wholes[at(group)]);
  }
  std::vector<Tensor> gradients;
  for (const int param : table_.units()[at(unit)].params)
    gradients.push_back(param_in(table_, wholes[at(table_.group_of(param))], param));
  return gradients;
}

void GradientStore::finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) {
  for (const int group : groups_of(table_, unit)) {
    Holder& holder = holder_of(group, unit);
    if (holder.sum) holder.sum->finish(context, micro_batch);
  }
}

void GradientStore::reduce(const Context& context, int unit) {
  std::vector<Reduction> reductions;
  for (const int group : groups_of(table_, unit)) {
    Holder& holder = holder_of(group, unit);
    DT_CHECK(!holder.sum || !holder.is_reduced, "unit {} is reduced twice", unit);
    holder.is_reduced = true;
    if (holder.sum) {
      reduce_whole(context, group, holder);
      continue;
    }
    while (under_way_.size() > most_under_way) settle_oldest(context);
    reductions.push_back(start_divided(context, group, holder));
  }
  if (!reductions.empty()) under_way_.push_back(std::move(reductions));
}

Tensor GradientStore::narrowed(const Context& context, const Tensor& values, Buffer& wire) {
  if (wire_ == dtype_ || values.numel() == 0) return values;
  wire = take(values.numel(), wire_);
  const Tensor rounded(wire.data(), wire_, values.shape());
  kernels::convert(context, values, rounded);
  return rounded;
}

void GradientStore::widen(const Context& context, Buffer& wire, std::int64_t begin, const Tensor& target) {
  if (!wire.data()) return;
  if (target.numel() > 0) {
    std::byte* const from = wire.data() + static_cast<std::size_t>(begin) * dtype_bytes(wire_);
    kernels::convert(context, Tensor(from, wire_, target.shape()), target);
  }
  pool_.give(std::move(wire));
}

void GradientStore::reduce_whole(const Context& context, int group, Holder& holder) {
  const comm::Part mine = own(group);
  if (division_.divides_optimizer()) {
    const Tensor moved = narrowed(context, holder.sum->total(), holder.wire);
    holder.work = sharding_.shards->reduce_scatter(moved, moved.flat(mine.begin, mine.count),
                                                   comm::Reduction::sum, shard_granule);
  } else if (sharding_.has_replicas()) {
    const Tensor moved = narrowed(context, holder.sum->total(), holder.wire);
    holder.work = sharding_.replicas->all_reduce(moved, moved);
  }
}

/// A rank without a micro-batch adds −0, which changes no bit of the others' sum.
GradientStore::Reduction GradientStore::start_divided(const Context& context, int group, Holder& holder) {
  if (!holder.whole.data()) {
    holder.whole = take(numel(group), dtype_);
    comm::fill_neutral(comm::Reduction::sum, flat(holder.whole, numel(group)));
  }
  const comm::Part mine = own(group);
  Reduction reduction{&holder, group, std::move(holder.whole), {}, {}, {}};
  if (holder.has_sum) reduction.part = take(mine.count, dtype_);
  const Buffer& target = holder.has_sum ? reduction.part : holder.part;
  holder.has_sum = true;
  const Tensor moved = narrowed(context, flat(reduction.whole, numel(group)), reduction.wire);
  const Tensor arrives =
      reduction.wire.data() ? moved.flat(mine.begin, mine.count) : flat(target, mine.count);
  reduction.work = sharding_.shards->reduce_scatter(moved, arrives, comm::Reduction::sum, shard_granule);
  return reduction;
}

void GradientStore::settle_oldest(const Context& context) {
  for (Reduction& reduction : under_way_.front()) {
    reduction.work.wait();
    const comm::Part mine = own(reduction.group);
    const Tensor sum = flat(reduction.holder->part, mine.count);
    const bool is_first = !reduction.part.data();
    const Tensor arrived = is_first ? sum : flat(reduction.part, mine.count);
    widen(context, reduction.wire, mine.begin, arrived);
    if (!is_first) kernels::add(context, sum, arrived, sum);
    pool_.give(std::move(reduction.whole));
    pool_.give(std::move(reduction.part));
  }
  under_way_.pop_front();
}

Tensor GradientStore::part_of(int group, const Holder& holder) const {
  const comm::Part mine = own(group);
  return holder.sum ? holder.sum->total().flat(mine.begin, mine.count) : flat(holder.part, mine.count);
}

void GradientStore::finish_started(const Context& context) {
  while (!under_way_.empty()) settle_oldest(context);
  for (std::vector<Holder>& holders : groups_) {
    for (Holder& holder : holders) {
      if (holder.work) holder.work->wait();
      holder.work.reset();
      if (!holder.wire.data()) continue;
      const Tensor total = holder.sum->total();
      const comm::Part mine = division_.own(total.numel());
      widen(context, holder.wire, mine.begin, total.flat(mine.begin, mine.count));
    }
  }
}

void GradientStore::complete(const Context& context) {
  finish_started(context);
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    for (Holder& holder : groups_[group]) {
      DT_CHECK(holder.is_reduced, "a holder of group {} has not been reduced", table_.groups()[group].name);
      if (!division_.divides_optimizer() || !sharding_.has_replicas()) continue;
      const Tensor mine = part_of(static_cast<int>(group), holder);
      const Tensor moved = narrowed(context, mine, holder.wire);
      holder.work = sharding_.replicas->all_reduce(moved, moved);
    }
  }
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    // The last holder's gradient takes the sum: the embedding's, the first, is mostly zero.
    const Tensor total = part_of(static_cast<int>(group), groups_[group].back());
    for (Holder& holder : groups_[group]) {
      if (holder.work) holder.work->wait();
      widen(context, holder.wire, 0, part_of(static_cast<int>(group), holder));
    }
    for (std::size_t h = 0; h + 1 < groups_[group].size(); ++h)
      kernels::add(context, total, part_of(static_cast<int>(group), groups_[group][h]), total);
  }
  is_complete_ = true;
}

Tensor GradientStore::part(int group) const {
  DT_CHECK(is_complete_, "the gradient of group {} is not complete", table_.groups()[at(group)].name);
  return part_of(group, groups_[at(group)].back());
}

std::size_t GradientStore::bytes() const {
  std::size_t total = 0;
  for (const std::vector<Holder>& holders : groups_) {
    for (const Holder& holder : holders) total += holder.sum ? holder.sum->bytes() : holder.part.bytes();
  }
  return total;
}

}  // namespace dt::parallel
