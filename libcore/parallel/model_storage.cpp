#include "parallel/model_storage.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/elementwise.hpp"

namespace dt::parallel {

namespace {
std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// The embedding has gradients of the tokens that a step saw, and zeros.
Pages pages_of(const model::UnitSpec& unit) {
  return unit.kind == model::UnitKind::embedding ? Pages::sparse : Pages::huge;
}
}  // namespace

ModelStorage::ModelStorage(const model::ParameterTable& table, Precision precision, const LanePlan* plan,
                           comm::Communicator* replicas)
    : table_(table), precision_(precision), replicas_(replicas) {
  for (const model::GroupSpec& spec : table.groups()) {
    const auto buffer = [&](DType dtype) {
      return Buffer(Device{}, static_cast<std::size_t>(spec.numel) * dtype_bytes(dtype));
    };
    Group group;
    group.weights = buffer(precision.compute);
    if (plan) {
      if (precision.has_masters()) group.masters = buffer(precision.master());
      group.first_moment = buffer(precision.master());
      group.second_moment = buffer(precision.master());
      for (const int holder : spec.holders)
        group.gradients.emplace_back(spec.numel, precision.gradient, *plan,
                                     pages_of(table.units()[at(holder)]));
      group.sums.resize(spec.holders.size());
    }
    groups_.push_back(std::move(group));
  }
  for (const model::UnitSpec& unit : table.units()) {
    std::vector<Tensor> weights;
    for (int param : unit.params) weights.push_back(param_in(group_weights(table.group_of(param)), param));
    unit_weights_.push_back(std::move(weights));
  }
}

StorageBytes ModelStorage::estimate(const model::ParameterTable& table, Precision precision,
                                    const LanePlan* plan) {
  StorageBytes total;
  for (const model::GroupSpec& spec : table.groups()) {
    const auto numel = static_cast<std::size_t>(spec.numel);
    const std::size_t master_bytes = numel * dtype_bytes(precision.master());
    total.weights += numel * dtype_bytes(precision.compute);
    if (!plan) continue;
    total.gradients +=
        numel * dtype_bytes(precision.gradient) * spec.holders.size() * at(std::max(1, plan->depth()));
    total.optimizer += (precision.has_masters() ? 3 : 2) * master_bytes;
    total.checkpoint += 3 * master_bytes;
  }
  return total;
}

Tensor ModelStorage::flat(int group, const Buffer& buffer, DType dtype) const {
  return Tensor(buffer.data(), dtype, Shape{table_.groups()[at(group)].numel});
}

Tensor ModelStorage::group_weights(int group) const {
  return flat(group, groups_[at(group)].weights, precision_.compute);
}
Tensor ModelStorage::group_masters(int group) const {
  if (!precision_.has_masters()) return group_weights(group);
  return flat(group, groups_[at(group)].masters, precision_.master());
}
Tensor ModelStorage::group_first_moment(int group) const {
  return flat(group, groups_[at(group)].first_moment, precision_.master());
}
Tensor ModelStorage::group_second_moment(int group) const {
  return flat(group, groups_[at(group)].second_moment, precision_.master());
}

Tensor ModelStorage::group_gradient(int group) const {
  DT_CHECK(gradients_are_complete_, "the gradient of group {} is not complete",
           table_.groups()[at(group)].name);
  return groups_[at(group)].gradients.back().total();
}

void ModelStorage::set_weights(const Context& context, int param,
                               const std::function<void(const Tensor& values)>& fill) {
  const int group = table_.group_of(param);
  const Tensor weights = param_in(group_weights(group), param);
  if (!precision_.has_masters()) return fill(weights);
  const Tensor masters = group_masters(group);
  const Arena::Scope scope(context.scratch());
  const Tensor values =
      masters ? param_in(masters, param) : context.scratch().allocate(precision_.master(), weights.shape());
  fill(values);
  kernels::convert(context, values, weights);
}

Tensor ModelStorage::param_in(const Tensor& flat, int param) const {
  const model::GroupSpec& spec = table_.groups()[at(table_.group_of(param))];
  const auto place = std::find(spec.params.begin(), spec.params.end(), param) - spec.params.begin();
  const Shape& shape = table_.params()[at(param)].shape;
  return flat.flat(spec.offsets[static_cast<std::size_t>(place)], shape.numel()).reshaped(shape);
}

std::size_t ModelStorage::holder_of(int group, int unit) const {
  const std::vector<int>& holders = table_.groups()[at(group)].holders;
  return static_cast<std::size_t>(std::find(holders.begin(), holders.end(), unit) - holders.begin());
}

GradientSum& ModelStorage::gradient_of(int group, int unit) {
  return groups_[at(group)].gradients.at(holder_of(group, unit));
}

std::vector<int> ModelStorage::groups_of(int unit) const {
  std::vector<int> groups;
  for (int param : table_.units()[at(unit)].params) groups.push_back(table_.group_of(param));
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

void ModelStorage::start_step() {
  for (Group& group : groups_) {
    for (GradientSum& sum : group.gradients) sum.start();
    std::fill(group.sums.begin(), group.sums.end(), std::nullopt);
  }
  gradients_are_complete_ = false;
}

std::vector<Tensor> ModelStorage::gradients(const Context& context, int unit, std::int64_t micro_batch) {
  std::vector<Tensor> flats(groups_.size());
  for (int group : groups_of(unit)) flats[at(group)] = gradient_of(group, unit).current(context, micro_batch);
  std::vector<Tensor> gradients;
  for (int param : table_.units()[at(unit)].params) {
    gradients.push_back(param_in(flats[at(table_.group_of(param))], param));
  }
  return gradients;
}

void ModelStorage::finish_micro_batch(const Context& context, int unit, std::int64_t micro_batch) {
  for (int group : groups_of(unit)) gradient_of(group, unit).finish(context, micro_batch);
}

void ModelStorage::reduce(int unit) {
  for (int index : groups_of(unit)) {
    const Tensor total = gradient_of(index, unit).total();
    std::optional<comm::Work>& sum = groups_[at(index)].sums.at(holder_of(index, unit));
    DT_CHECK(!sum, "unit {} is reduced twice", unit);
    const bool is_alone = !replicas_ || replicas_->size() == 1;
    sum = is_alone ? comm::Work() : replicas_->all_reduce(total, total);
  }
}

void ModelStorage::poll() {
  if (replicas_) replicas_->engine().progress();
}

void ModelStorage::complete_gradients(const Context& context) {
  for (Group& group : groups_) {
    // The last holder's gradient takes the sum: the embedding's, the first, is mostly zero.
    const Tensor total = group.gradients.back().total();
    for (std::size_t h = 0; h < group.gradients.size(); ++h) {
      DT_CHECK(group.sums[h], "a holder has not been reduced");
      group.sums[h]->wait();
    }
    for (std::size_t h = 0; h + 1 < group.gradients.size(); ++h)
      kernels::add(context, total, group.gradients[h].total(), total);
  }
  gradients_are_complete_ = true;
}

}  // namespace dt::parallel
