#include "plan/resumable.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "model/hf/hf_config.hpp"
#include "model/parameter_scope.hpp"
#include "model/parameter_table.hpp"

namespace dt::plan {

namespace {

template <class T>
std::string changed(const char* what, const T& then, const T& now) {
  return fmt::format("{} was {} and is now {}", what, then, now);
}

}  // namespace

std::string model_difference(const model::ModelSpec& then, const model::ModelSpec& now) {
  if (model::same_computation(then, now)) return {};
  if (then.family != now.family) return changed("the model's family", then.family, now.family);
  struct Size {
    const char* what;
    std::int64_t before, after;
  };
  for (const Size& size :
       {Size{"the model's vocabulary", then.vocabulary, now.vocabulary},
        {"the model's number of layers", then.layers, now.layers},
        {"the model's hidden size", then.hidden, now.hidden},
        {"the model's number of heads", then.query_heads, now.query_heads},
        {"the model's number of key-value heads", then.key_value_heads, now.key_value_heads},
        {"the model's MLP size", then.mlp_hidden, now.mlp_hidden},
        {"the model's number of positions", then.max_positions, now.max_positions}}) {
    if (size.before != size.after) return changed(size.what, size.before, size.after);
  }
  return changed("the model's config.json", model::hf_config(then), model::hf_config(now));
}

namespace {

/// Returns whether the checkpoint has the average of the weights. If it has none, an average begins with the
/// weights.
bool has_average(const checkpoint::PieceIndex& pieces) {
  return std::ranges::any_of(pieces.tensors(), [](const checkpoint::StoredTensor& tensor) {
    return tensor.kind == kernels::average_kind;
  });
}

/// Returns the first tensor in which model and checkpoint differ, in the model's order, or "" if
/// there is none. An average that only one of them has does not count.
std::string tensor_difference(const Plan& plan, const checkpoint::PieceIndex& pieces) {
  std::map<std::string, Shape> stored;
  const bool has_both_averages = plan.ema > 0 && has_average(pieces);
  for (const checkpoint::StoredTensor& tensor : pieces.tensors()) {
    if (tensor.kind != kernels::average_kind || has_both_averages)
      stored.emplace(tensor.kind + " of " + tensor.tensor, tensor.global);
  }
  const model::ParameterTable table(plan.spec);
  std::vector<optim::StateKind> kinds = optim::state_kinds(plan.optimizer);
  kinds.insert(kinds.begin(), checkpoint::kind_weights);
  if (has_both_averages) kinds.emplace_back(kernels::average_kind);
  std::set<std::string> known;
  for (int index = 0; index < static_cast<int>(table.params().size()); ++index) {
    const model::ParamSpec& param = table.params()[to_index(index)];
    for (const optim::StateKind& kind : kinds) {
      if (!model::is_in_scope(table, index, kind.scope)) continue;
      const std::string name = fmt::format("{} of {}", kind.name, param.name);
      const Shape shape = model::state_shape(param.shape, kind.shape);
      const auto found = stored.find(name);
      if (found != stored.end() && found->second == shape) {
        known.insert(name);
        continue;
      }
      return fmt::format("{} is {} in the checkpoint and {} in the model", name,
                         found == stored.end() ? "missing" : found->second.to_string(), shape.to_string());
    }
  }
  for (const auto& [name, shape] : stored) {
    if (!known.contains(name)) {
      return fmt::format("{} is {} in the checkpoint and missing in the model", name, shape.to_string());
    }
  }
  return {};
}

/// Returns whether two optimizers keep the same kinds of state for the same parameters. The types may differ,
/// since readers convert them.
bool keep_same_state(std::vector<optim::StateKind> a, const std::vector<optim::StateKind>& b) {
  std::erase_if(a, [](const optim::StateKind& kind) { return kind.name == kernels::average_kind; });
  return std::ranges::equal(a, b, [](const optim::StateKind& x, const optim::StateKind& y) {
    return x.name == y.name && x.scope == y.scope;
  });
}

/// Refuses a checkpoint whose optimizer keeps another state.
void check_optimizer(const Plan& plan, const checkpoint::Manifest& manifest) {
  const checkpoint::StoredOptimizer& then = manifest.state.optimizer;
  const std::string_view now = name_of(plan.optimizer.kind);
  if (then.name.empty()) return;
  const std::string checkpoint = checkpoint::checkpoint_name(manifest.state.step, manifest.generation);
  constexpr const char* remedy = "a new run can start from its weights: --run NEW --init-from CHECKPOINT";
  if (then.name != now)
    throw Error(ErrorKind::input,
                fmt::format("{} was trained with {}: --optimizer {} cannot continue its state", checkpoint,
                            then.name, now),
                fmt::format("use --optimizer {} to resume; {}", then.name, remedy));
  const std::vector<optim::StateKind> kinds = optim::state_kinds(plan.optimizer);
  if (keep_same_state(then.state_kinds, kinds)) return;
  throw Error(ErrorKind::input,
              fmt::format("{} holds the {} state [{}], but this command needs [{}]", checkpoint, now,
                          fmt::join(kernels::kind_names(then.state_kinds), ", "),
                          fmt::join(kernels::kind_names(kinds), ", ")),
              fmt::format("it was trained with {}; {}", then.hyper_parameters, remedy));
}

std::string difference(const Plan& plan, const checkpoint::Manifest& manifest,
                       const checkpoint::PieceIndex& pieces, std::uint64_t dataset_digest) {
  const std::string model = model_difference(manifest.model, plan.spec);
  const std::string tensor = tensor_difference(plan, pieces);
  if (!model.empty()) return tensor.empty() ? model : fmt::format("{} ({})", model, tensor);
  if (!tensor.empty()) return tensor;
  const checkpoint::TrainingState& state = manifest.state;
  if (state.sequence_length != plan.sequence_length) {
    return changed("--sequence-length", state.sequence_length, plan.sequence_length);
  }
  if (state.seed != plan.seed) return changed("--seed", state.seed, plan.seed);
  if (state.dataset_digest != dataset_digest) {
    return changed("the digest of --data", to_hex(state.dataset_digest), to_hex(dataset_digest));
  }
  return {};
}

}  // namespace

void check_resumable(const Plan& plan, const checkpoint::Manifest& manifest,
                     const checkpoint::PieceIndex& pieces, std::uint64_t dataset_digest) {
  check_optimizer(plan, manifest);
  const std::string what = difference(plan, manifest, pieces, dataset_digest);
  if (what.empty()) return;
  throw Error(ErrorKind::input, "cannot resume: " + what,
              "use the run's earlier value, or start a new run with another --run or --resume never");
}

}  // namespace dt::plan
