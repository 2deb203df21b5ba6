#include "optim/optimizer.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "base/error.hpp"

namespace dt::optim {

namespace {

using Number = HyperParameterMembers<double>;
using Flag = HyperParameterMembers<bool>;

const std::vector<HyperParameter> all_hyper_parameters = {
    {"weight-decay", "decoupled weight decay; not applied to norms and biases",
     Number{&OptimizerRequest::weight_decay, &OptimizerSettings::weight_decay}},
    {"beta1", "decay of the first moment; lion: weight of the momentum in an update",
     Number{&OptimizerRequest::beta1, &OptimizerSettings::beta1},
     /*is_below_one=*/true},
    {"beta2", "decay of the second moment; lion: decay of the momentum",
     Number{&OptimizerRequest::beta2, &OptimizerSettings::beta2},
     /*is_below_one=*/true},
    {"adam-eps", "epsilon added to the root of the second moment",
     Number{&OptimizerRequest::eps, &OptimizerSettings::eps}},
    {"momentum", "momentum coefficient; 0 disables momentum and its state",
     Number{&OptimizerRequest::momentum, &OptimizerSettings::momentum}, /*is_below_one=*/true},
    {"nesterov", "use Nesterov momentum: gradient + momentum × velocity",
     Flag{&OptimizerRequest::nesterov, &OptimizerSettings::nesterov}},
    {"adam-lr", "peak learning rate of what AdamW updates beside Muon; 0: that of all",
     Number{&OptimizerRequest::adam_lr, &OptimizerSettings::adam_lr}},
    {"beta2-decay", "exponent X of the second moment's decay at step t, 1 - t^-X",
     Number{&OptimizerRequest::beta2_decay, &OptimizerSettings::beta2_decay}},
    {"clip-threshold", "limit of the root mean square of an update ÷ learning rate; 0: none",
     Number{&OptimizerRequest::clip_threshold, &OptimizerSettings::clip_threshold}},
    {"scale-parameter", "multiply the learning rate by max(0.001, root mean square of the parameter)",
     Flag{&OptimizerRequest::scale_parameter, &OptimizerSettings::scale_parameter}},
    {"relative-step", "limit the learning rate of step t to 1/sqrt(t)",
     Flag{&OptimizerRequest::relative_step, &OptimizerSettings::relative_step}},
};

using Kinds = std::vector<StateKind>;

/// Returns AdamW's kinds of state for the parameters in a scope.
Kinds adam_moments(const OptimizerSettings& settings, kernels::ParameterScope scope) {
  const auto dtype = settings.moments == MomentType::bf16 ? std::optional(DType::bf16) : std::nullopt;
  return {{"adam_m", scope, dtype}, {"adam_v", scope, dtype}};
}

const std::vector<std::pair<OptimizerKind, Optimizer>> optimizers = {
    {OptimizerKind::adamw,
     {.title = "AdamW",
      .defaults = {},
      .hyper_parameters = {"weight-decay", "beta1", "beta2", "adam-eps"},
      .state_kinds =
          [](const OptimizerSettings& s) { return adam_moments(s, kernels::ParameterScope::all); }}},
    {OptimizerKind::sgd,
     {.title = "SGD",
      .defaults = {.weight_decay = 0, .momentum = 0.9},
      .hyper_parameters = {"weight-decay", "momentum", "nesterov"},
      .state_kinds = [](const OptimizerSettings& s) { return s.momentum > 0 ? Kinds{"sgd_m"} : Kinds(); }}},
    {OptimizerKind::lion,
     {.title = "Lion",
      .defaults = {.beta1 = 0.9, .beta2 = 0.99},
      .hyper_parameters = {"weight-decay", "beta1", "beta2"},
      .state_kinds = [](const OptimizerSettings&) { return Kinds{"lion_m"}; }}},
    {OptimizerKind::muon,
     {.title = "Muon",
      .defaults = {.momentum = 0.95, .nesterov = true},
      .hyper_parameters = {"weight-decay", "beta1", "beta2", "adam-eps", "momentum", "adam-lr"},
      .state_kinds =
          [](const OptimizerSettings& s) {
            Kinds kinds = adam_moments(s, kernels::ParameterScope::others);
            kinds.emplace_back("muon_m", kernels::ParameterScope::block_matrices);
            return kinds;
          }}},
    {OptimizerKind::adafactor,
     {.title = "Adafactor",
      .defaults = {.weight_decay = 0},
      .hyper_parameters = {"weight-decay", "beta2-decay", "clip-threshold", "scale-parameter",
                           "relative-step"},
      .state_kinds =
          [](const OptimizerSettings&) {
            using enum kernels::ParameterScope;
            using enum kernels::StateShape;
            return Kinds{{"adafactor_r", matrices, rows},
                         {"adafactor_c", matrices, columns},
                         {"adafactor_v", vectors}};
          }}},
};

bool uses(const Optimizer& optimizer, const HyperParameter& parameter) {
  return std::ranges::find(optimizer.hyper_parameters, parameter.name) != optimizer.hyper_parameters.end();
}

}  // namespace

std::string HyperParameter::file_name() const {
  std::string text = name;
  std::ranges::replace(text, '-', '_');
  return text;
}

std::span<const HyperParameter> hyper_parameters() {
  return all_hyper_parameters;
}

const Optimizer& optimizer(OptimizerKind kind) {
  for (const auto& [of, row] : optimizers) {
    if (of == kind) return row;
  }
  DT_CHECK(false, "the table lacks the optimizer {}", static_cast<int>(kind));
}

std::vector<std::string> users_of(const HyperParameter& parameter) {
  std::vector<std::string> names;
  for (const auto& [kind, row] : optimizers) {
    if (uses(row, parameter)) names.emplace_back(name_of(kind));
  }
  return names;
}

std::vector<std::string> users_of_moments() {
  std::vector<std::string> names;
  for (const auto& [kind, row] : optimizers) {
    const std::vector<StateKind> kinds = row.state_kinds({.moments = MomentType::bf16});
    if (std::ranges::any_of(kinds, [](const StateKind& state) { return state.dtype.has_value(); }))
      names.emplace_back(name_of(kind));
  }
  return names;
}

std::string describe_defaults(const HyperParameter& parameter) {
  const auto& members = std::get<HyperParameterMembers<double>>(parameter.members);
  std::string text;
  std::optional<double> first;
  for (const auto& [kind, row] : optimizers) {
    if (!uses(row, parameter)) continue;
    const double value = row.defaults.*members.value;
    if (!first) text = fmt::format("{}", value);
    if (first && value != *first) text += fmt::format("; {}: {}", name_of(kind), value);
    if (!first) first = value;
  }
  return text;
}

std::vector<StateKind> state_kinds(const OptimizerSettings& settings) {
  return optimizer(settings.kind).state_kinds(settings);
}

std::vector<std::pair<std::string, HyperParameterValue>> used_values(const OptimizerSettings& settings) {
  std::vector<std::pair<std::string, HyperParameterValue>> values;
  for (const HyperParameter& parameter : all_hyper_parameters) {
    if (!uses(optimizer(settings.kind), parameter)) continue;
    std::visit(
        [&](const auto& members) { values.emplace_back(parameter.file_name(), settings.*members.value); },
        parameter.members);
  }
  return values;
}

OptimizerSettings resolve(const OptimizerRequest& request) {
  const Optimizer& row = optimizer(request.kind);
  OptimizerSettings settings = row.defaults;
  settings.kind = request.kind;
  settings.moments = request.moments;
  for (const HyperParameter& parameter : all_hyper_parameters) {
    if (!uses(row, parameter)) continue;
    std::visit(
        [&](const auto& members) {
          const auto& asked = request.*members.asked;
          if (!asked) return;
          if (parameter.is_below_one && *asked >= 1)
            throw usage_error("--{} {} must be below 1", parameter.name, *asked);
          settings.*members.value = *asked;
        },
        parameter.members);
  }
  if (settings.nesterov && settings.momentum == 0)
    throw usage_error("{} needs a --momentum above 0",
                      settings.kind == OptimizerKind::muon ? "--optimizer muon" : "--nesterov");
  return settings;
}

void append_range(std::vector<ParameterRange>& segments, const ParameterRange& parameter) {
  const ParameterRange* const last = segments.empty() ? nullptr : &segments.back();
  if (last && last->offset + last->numel == parameter.offset && last->decays == parameter.decays &&
      last->lr_scale == parameter.lr_scale && last->decay_scale == parameter.decay_scale &&
      last->state_shift == parameter.state_shift && !parameter.elements)
    segments.back().numel += parameter.numel;
  else
    segments.push_back(parameter);
}

void update(const Context& context, const kernels::OptimizerStep& step,
            std::span<const ParameterRange> segments, const Tensor& weights, const Tensor& gradient,
            std::span<const Tensor> states, const Tensor& copy) {
  for (const ParameterRange& s : segments) {
    kernels::OptimizerStep own = step;
    own.lr *= s.lr_scale;
    own.settings.weight_decay *= s.decays ? s.decay_scale : 0;
    own.elements = s.elements.value_or(kernels::ElementIndices());
    const auto part = [&](const Tensor& flat) { return flat.flat(s.offset, s.numel); };
    std::vector<Tensor> parts;
    for (const Tensor& state : states) parts.push_back(state.flat(s.offset + s.state_shift, s.numel));
    kernels::optimizer_step(context, own, part(weights), part(gradient), parts, copy ? part(copy) : Tensor());
  }
}

/// Uses a step of SGD: the weights are the gradient, its factor is −1, and the average itself decays.
void update_average(const Context& context, double ema, const Tensor& weights, const Tensor& average) {
  const kernels::OptimizerStep step{.settings = {.kind = OptimizerKind::sgd, .weight_decay = 1},
                                    .lr = 1 - ema,
                                    .step = 1,
                                    .grad_scale = -1};
  kernels::optimizer_step(context, step, average, weights, {}, {});
}

}  // namespace dt::optim
