#include "train/step/weight_update.hpp"

#include <algorithm>

#include "model/parameter_class.hpp"
#include "model/parameter_scope.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "train/step/weight_average.hpp"

namespace dt::train {

namespace {

using kernels::ParameterScope;

/// Returns the parameter ranges of this rank's shard of each group, of parameters in a scope. `kinds` are the
/// kinds of their state, which lie alike.
std::vector<std::vector<optim::ParameterRange>> parameter_ranges_of(const parallel::ModelStorage& storage,
                                                                    ParameterScope scope,
                                                                    const std::vector<std::size_t>& kinds,
                                                                    const plan::ParameterSettings& settings) {
  const parallel::LocalTable& local = storage.local();
  const bool are_rounded = std::ranges::any_of(
      kinds, [&](std::size_t kind) { return storage.state_kinds()[kind].dtype.has_value(); });
  std::vector<std::vector<optim::ParameterRange>> ranges;
  for (const parallel::LocalGroup& group : local.groups()) {
    std::vector<optim::ParameterRange>& list = ranges.emplace_back();
    for (const int index : group.params) {
      const parallel::LocalParam& param = local.param(index);
      if (param.owned_piece.numel() == 0 || !model::is_in_scope(local.table(), param.param, scope)) continue;
      const std::int64_t shift =
          kinds.empty() ? 0 : storage.state_layout(kinds.front()).offset(param) - param.owned_offset;
      const plan::ParameterSettings::Update own = settings.update_of(local.table(), param.param);
      optim::ParameterRange range{
          param.owned_offset, param.owned_piece.numel(), own.decays, own.lr_scale, shift, own.decay_scale};
      if (are_rounded) range.elements = kernels::element_indices(param.param, param.owned_piece);
      optim::append_range(list, range);
    }
  }
  return ranges;
}

/// Returns the settings that all matrices of blocks share.
plan::ParameterSettings::Update update_of_matrices(const model::ParameterTable& table,
                                                   const plan::ParameterSettings& settings) {
  for (int param = 0; param < static_cast<int>(table.params().size()); ++param) {
    if (model::is_in_scope(table, param, ParameterScope::block_matrices))
      return settings.update_of(table, param);
  }
  return {};
}

}  // namespace

WeightUpdate::WeightUpdate(const Context& context, parallel::ModelStorage& storage,
                           const optim::OptimizerSettings& settings,
                           const plan::ParameterSettings& parameter_settings, double ema)
    : context_(context),
      storage_(storage),
      of_matrices_(update_of_matrices(storage.local().table(), parameter_settings)),
      ema_(ema) {
  if (optim::factors_moments(settings)) {
    factored_ = std::make_unique<FactoredUpdate>(context, storage, parameter_settings);
    return;
  }
  const ParameterScope scope =
      optim::updates_matrices(settings) ? ParameterScope::others : ParameterScope::all;
  for (std::size_t kind = 0; kind < storage.state_kinds().size(); ++kind) {
    const kernels::StateKind& state = storage.state_kinds()[kind];
    if (state.scope == scope && state.name != kernels::average_kind) kinds_.push_back(kind);
  }
  ranges_ = parameter_ranges_of(storage, scope, kinds_, parameter_settings);
  if (optim::updates_matrices(settings)) matrices_ = std::make_unique<MatrixUpdate>(context, storage);
}

void WeightUpdate::run(const kernels::OptimizerStep& step, double peak_lr,
                       const std::function<void()>& clip) {
  if (factored_) factored_->run(step);
  if (!factored_) update_ranges(matrices_ ? optim::step_of_others(step, peak_lr) : step);
  if (matrices_) matrices_->run(of_matrices_.apply(step));
  if (clip) clip();
  if (ema_ > 0) update_average(context_, ema_, storage_);
  storage_.weights().mark_updated();
}

void WeightUpdate::update_ranges(const kernels::OptimizerStep& step) {
  for (int group = 0; group < storage_.num_groups(); ++group) {
    if (!storage_.local().group(group).has_state) continue;
    const std::vector<Tensor> all = storage_.group_states(group);
    std::vector<Tensor> states;
    for (const std::size_t kind : kinds_) states.push_back(all[kind]);
    optim::update(context_, step, ranges_[static_cast<std::size_t>(group)], storage_.group_masters(group),
                  storage_.group_gradient(group), states,
                  storage_.precision().has_masters() ? storage_.group_weights(group) : Tensor());
  }
}

}  // namespace dt::train
