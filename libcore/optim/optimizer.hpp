#pragma once
// The optimizers as a table: a name, kinds of state, an update and hyper-parameters each. Storage,
// checkpoints, estimates and options follow from it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/optimizer_step.hpp"
#include "kernels/state_kind.hpp"

namespace dt::optim {

using kernels::MomentType;
using kernels::OptimizerKind;
using kernels::OptimizerSettings;
using kernels::StateKind;

/// The optimizer that a user asks for. Hyper-parameters that are absent take its defaults.
struct OptimizerRequest {
  OptimizerKind kind = OptimizerKind::adamw;
  std::optional<double> weight_decay = {};
  std::optional<double> beta1 = {};
  std::optional<double> beta2 = {};
  std::optional<double> eps = {};
  std::optional<double> momentum = {};
  std::optional<bool> nesterov = {};
  std::optional<double> adam_lr = {};
  MomentType moments = MomentType::master;
  std::optional<double> beta2_decay = {};
  std::optional<double> clip_threshold = {};
  std::optional<bool> scale_parameter = {};
  std::optional<bool> relative_step = {};
};

/// The members that hold a hyper-parameter of type T.
template <class T>
struct HyperParameterMembers {
  std::optional<T> OptimizerRequest::*asked;
  T OptimizerSettings::*value;
};

/// A hyper-parameter: an option of dt-train, and a member of files under its name with _ for -. A
/// number is not negative.
struct HyperParameter {
  const char* name;
  const char* help;
  std::variant<HyperParameterMembers<double>, HyperParameterMembers<bool>> members;
  bool is_below_one = false;
  std::string file_name() const;
};
using HyperParameterValue = std::variant<double, bool>;

/// Returns the hyper-parameters of all optimizers, in the order of options.
std::span<const HyperParameter> hyper_parameters();

/// An optimizer: a row of the table. kernels::optimizer_step() makes its update. There are two exceptions:
/// optim/muon.hpp updates Muon's matrices, and optim/adafactor.hpp makes Adafactor's update.
struct Optimizer {
  const char* title;  // as in its paper
  OptimizerSettings defaults;
  std::vector<std::string> hyper_parameters;  // names of those that it uses
  /// Returns the kinds of state that it keeps, in the order of its update.
  std::vector<StateKind> (*state_kinds)(const OptimizerSettings& settings);
};

/// Returns the names of the optimizers whose moments may be bf16: those that update parameters by AdamW.
std::vector<std::string> users_of_moments();
/// Returns the row of an optimizer.
const Optimizer& optimizer(OptimizerKind kind);
/// Returns the names of the optimizers that use the hyper-parameter.
std::vector<std::string> users_of(const HyperParameter& parameter);
/// Returns a text on a number's defaults, with the first optimizer's before the ones that differ:
/// "0.1", or "0.1; sgd: 0".
std::string describe_defaults(const HyperParameter& parameter);

/// Returns the kinds of state that an optimizer keeps with these settings.
std::vector<StateKind> state_kinds(const OptimizerSettings& settings);
/// Returns the names in files, and the values, of the hyper-parameters that the optimizer uses.
std::vector<std::pair<std::string, HyperParameterValue>> used_values(const OptimizerSettings& settings);
/// Returns the settings that a request means. Ignores hyper-parameters that the optimizer does
/// not use.
/// Errors: usage, naming the option, if a value is not one that the update can use.
OptimizerSettings resolve(const OptimizerRequest& request);

/// A range of parameters in a flat buffer.
/// Units: elements.
struct ParameterRange {
  std::int64_t offset;
  std::int64_t numel;
  bool decays;
  double lr_scale = 1;           // factor of the learning rate, also in weight decay
  std::int64_t state_shift = 0;  // offset in the states − offset
  double decay_scale = 1;        // factor of the weight decay
  /// Indices of the elements in their parameter, for states that are rounded stochastically. Such a range
  /// belongs to one parameter.
  std::optional<kernels::ElementIndices> elements = {};
};

/// Appends a parameter. It joins the last segment if it lies directly behind that segment, also in the
/// states, and has the same settings, so that one pass serves both.
void append_range(std::vector<ParameterRange>& segments, const ParameterRange& parameter);

/// Makes one update of every segment, with weight decay if the segment decays. There is a tensor
/// for each of state_kinds(). `copy`, if present, receives the new weights rounded to its dtype.
/// Padding between segments does not change.
void update(const Context& context, const kernels::OptimizerStep& step,
            std::span<const ParameterRange> segments, const Tensor& weights, const Tensor& gradient,
            std::span<const Tensor> states, const Tensor& copy = {});

/// Updates the average of the weights, e = ema · e + (1 − ema) · w. Both tensors have one dtype.
/// Numerics: an average that equals the weights does not change.
void update_average(const Context& context, double ema, const Tensor& weights, const Tensor& average);

}  // namespace dt::optim
