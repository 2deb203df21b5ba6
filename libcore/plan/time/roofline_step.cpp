#include "plan/time/roofline_step.hpp"

#include <algorithm>
#include <ranges>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "kernels/linear.hpp"
#include "kernels/rotary.hpp"
#include "model/flops.hpp"
#include "model/layers/feed_forward.hpp"
#include "model/layers/residual_branch.hpp"
#include "model/tensor_parallel/tensor_parallel_ops.hpp"
#include "parallel/state/local_table.hpp"
#include "parallel/state/mesh.hpp"
#include "parallel/state/state_layout.hpp"
#include "plan/action_lists.hpp"

namespace dt::plan {

namespace {

constexpr double half_bytes = 2, single_bytes = 4;
/// Part of a copy's rate that instruction-bound kernels reach: that of the norm, which is such a
/// kernel.
constexpr double instruction_bound = norm_relative;
constexpr std::int64_t rows_of_mlp_backward = 1024;  // rows at a time without whole_mlp_backward
/// Cross-entropy without block_per_row: as many rows are in progress as a cache of loss_cache_bytes
/// holds, and at least fewest_loss_rows. An SM runs two of its blocks at a time.
constexpr std::int64_t loss_cache_bytes = 32 << 20, fewest_loss_rows = 128, loss_slots = 2 * 132;

/// Makes the operations of one micro-batch.
/// Legend: R rows, C hidden, V columns of the vocabulary, P the columns that
/// products have for V, Q queries, E queries, keys and values. Dims that ranks share are this
/// rank's part.
class UnitOperationsBuilder {
 public:
  UnitOperationsBuilder(const Plan& plan, const KernelFeatures& traits)
      : plan_(plan),
        traits_(traits),
        share_(model::shard_spec(plan.spec, parallel::tensor_parallel_shard(plan.layout, plan.place))),
        R_(plan.micro_batch * plan.local_length()),
        C_(plan.spec.hidden),
        Q_(share_.query_heads * share_.head_dim),
        E_(Q_ + 2 * share_.key_value_heads * share_.head_dim),
        attends_(model::attention_branch_form(plan.spec)),
        feeds_(model::feed_forward_branch_form(plan.spec)),
        V_(ceil_div(plan.spec.vocabulary, plan.layout.tp)),
        P_(traits.aligned_head ? kernels::padded_features(Device::gpu(0), plan.precision.compute, V_) : V_) {}

  UnitOperations embedding() const {
    UnitOperations unit;
    unit.forward = {Operation::memory("embedding", bytes(2 * C_))};
    if (share_.embedding_scale != 1) {
      unit.forward.push_back(Operation::memory("scale", norm_share() * bytes(2 * C_)));
      unit.backward_weight.push_back(unit.forward.back());
    }
    // Rows are sorted by token, and added in fp32.
    unit.backward_weight.push_back(Operation::memory("embedding's gradient", bytes(C_) + 2 * fp32(C_), 6));
    return unit;
  }

  UnitOperations block(std::int64_t layer) const {
    const Steps steps = share_.feed_forward[layer]->steps(share_);
    UnitOperations unit;
    add_forward(unit.forward, layer, steps);
    if (plan_.recompute == Recompute::full) add_forward(unit.backward_input, layer, steps);
    if (plan_.recompute == Recompute::selective) {
      for (int norm = 0; norm < num_norms(attends_.normalises_input, feeds_.normalises_input); ++norm)
        add_norm(unit.backward_input);
      for (const model::FeedForwardStep& step : steps)
        if (step.kind == StepKind::elementwise) unit.backward_input.push_back(elementwise(step));
    }
    add_backward(unit.backward_input, layer, steps);
    add_weights(unit.backward_weight, steps);
    return unit;
  }

  UnitOperations head() const {
    UnitOperations unit;
    const std::int64_t fit = (std::int64_t{256} << 20) / V_;  // rows of logits at a time: see HeadUnit
    const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(R_, fit)), rows = ceil_div(R_, chunks);
    const auto add = [&](Operation operation) {
      operation.count = static_cast<double>(chunks);
      if (operation.kind == OperationKind::matmul) operation.is_aligned = P_ % 8 == 0;
      unit.forward.push_back(std::move(operation));
    };
    add_norm(unit.forward);
    if (P_ != V_)
      unit.forward.push_back(
          Operation::memory("head's matrix, padded", 2 * half_bytes * static_cast<double>(V_ * C_), 2));
    add(Operation::matmul("head", rows, P_, C_));
    if (plan_.spec.logit_scale != 1 || plan_.spec.logit_softcap)
      add(Operation::memory("logits' scale and cap", 2 * half_bytes * static_cast<double>(rows * V_)));
    Operation loss = Operation::memory("cross-entropy", 2 * half_bytes * static_cast<double>(rows * V_));
    loss.efficiency = loss_relative * (traits_.block_per_row ? 1 : loss_efficiency(rows));
    add(loss);
    add(Operation::matmul("head's input gradient", rows, C_, P_));
    Operation weight = Operation::matmul("head's weight gradient", V_, C_, rows);
    weight.result_bytes = chunks > 1 || several() ? 2 * single_bytes : single_bytes;
    add(weight);
    add_norm_backward(unit.forward);
    unit.backward_input = {Operation::memory("head's gradient", bytes(2 * C_))};
    return unit;
  }

 private:
  using Steps = std::vector<model::FeedForwardStep>;
  using StepKind = model::FeedForwardStep::Kind;

  double bytes(std::int64_t columns) const { return half_bytes * static_cast<double>(R_ * columns); }
  static int num_norms(bool first, bool second) { return (first ? 1 : 0) + (second ? 1 : 0); }
  double fp32(std::int64_t columns) const { return single_bytes * static_cast<double>(R_ * columns); }
  bool several() const { return plan_.lane_plan().num_micro_batches() > 1; }
  /// Returns the part of the rows that norms take: with sequence parallelism the rank's own.
  double norm_share() const { return plan_.layout.sequence_parallel ? 1.0 / plan_.layout.tp : 1.0; }

  Operation bound(Operation operation) const {
    operation.efficiency = traits_.few_instructions ? 1 : instruction_bound;
    return operation;
  }
  /// Returns the part of a copy's rate that the loss reaches. Its blocks take turns on an H100's SMs,
  /// and the last turn may have few of them.
  double loss_efficiency(std::int64_t rows) const {
    const std::int64_t at_work = std::max(fewest_loss_rows, loss_cache_bytes / (2 * V_));
    const std::int64_t of_block = ceil_div(rows, at_work), blocks = ceil_div(rows, of_block);
    const std::int64_t turns = ceil_div(blocks, loss_slots);
    return static_cast<double>(blocks) / static_cast<double>(turns * loss_slots);
  }

  void add_norm(std::vector<Operation>& list) const {
    list.push_back(Operation::memory("norm", norm_share() * bytes(2 * C_)));
    list.back().efficiency = norm_relative;
  }
  /// Adds both gradients of a norm. They move 12 bytes a feature, and take as long as a copy of 12.3:
  /// 8 at norm_backward_relative.
  void add_norm_backward(std::vector<Operation>& list) const {
    list.push_back(bound(Operation::memory("norm's input gradient", norm_share() * bytes(4 * C_))));
    list.push_back(bound(Operation::memory("norm's weight gradient", norm_share() * bytes(2 * C_), 2)));
  }
  /// Adds what a branch's output passes through: its norm, and the residual's addition if the product
  /// does not make it.
  void add_branch_output(std::vector<Operation>& list, const model::BranchForm& form) const {
    if (form.normalises_output) add_norm(list);
    if (is_apart(form)) list.push_back(Operation::memory("residual", norm_share() * bytes(3 * C_)));
    if (!is_apart(form)) list.back() = added(list.back());
  }
  static bool is_apart(const model::BranchForm& form) { return form.normalises_output || form.scale != 1; }
  void add_branch_output_gradient(std::vector<Operation>& list, const model::BranchForm& form) const {
    if (form.scale != 1) list.push_back(Operation::memory("scale", norm_share() * bytes(2 * C_)));
    if (form.normalises_output) add_norm_input_gradient(list, 3);
  }
  void add_branch_input_gradient(std::vector<Operation>& list, const model::BranchForm& form) const {
    if (form.normalises_input)
      add_norm_input_gradient(list, 4);
    else
      list.push_back(Operation::memory("residual's gradient", norm_share() * bytes(3 * C_)));
  }
  void add_norm_input_gradient(std::vector<Operation>& list, std::int64_t tensors) const {
    list.push_back(bound(Operation::memory("norm's input gradient", norm_share() * bytes(tensors * C_))));
  }
  Operation elementwise(const model::FeedForwardStep& step) const {
    return bound(Operation::memory(step.name, bytes(step.inputs + step.outputs)));
  }
  /// Returns the features of queries and keys.
  std::int64_t qk_features() const { return Q_ + (E_ - Q_) / 2; }
  void add_rotary(std::vector<Operation>& list, std::int64_t layer) const {
    const model::AttentionSpec& attention = share_.attention[layer];
    if (share_.position != model::Position::rotary || !attention.is_rotary) return;
    const bool scales_all = attention.rotary.query_scale != 0;
    const std::int64_t pairs = kernels::num_rotary_frequencies(attention.rotary, share_.head_dim),
                       keys = (E_ - Q_) / 2, turned = 2 * pairs,
                       features = (scales_all ? Q_ : Q_ * turned / share_.head_dim) +
                                  keys * turned / share_.head_dim;
    list.push_back(Operation::memory("rotary", 2 * bytes(features)));
  }
  /// Returns whether ranks sum statistics between two passes over queries and keys.
  bool sums_statistics() const { return share_.qk_norm == model::QkNorm::full_width && plan_.layout.tp > 1; }
  void add_qk_norm(std::vector<Operation>& list) const {
    if (share_.qk_norm == model::QkNorm::none) return;
    if (sums_statistics()) list.push_back(Operation::memory("q/k norm's squares", bytes(qk_features()), 2));
    list.push_back(Operation::memory("q/k norm", bytes(3 * qk_features()), 2));
  }
  /// The gradient of a weight takes a pass of its own, before dx takes the place of dy.
  void add_qk_norm_backward(std::vector<Operation>& list) const {
    if (share_.qk_norm == model::QkNorm::none) return;
    if (sums_statistics())
      list.push_back(Operation::memory("q/k norm's products", bytes(2 * qk_features()), 2));
    list.push_back(Operation::memory("q/k norm's weight gradient", bytes(2 * qk_features()), 4));
    list.push_back(Operation::memory("q/k norm's input gradient", bytes(3 * qk_features()), 2));
  }
  /// Makes a product add its result to the output, which it therefore also reads.
  static Operation added(Operation product) {
    product.result_bytes = 2 * half_bytes;
    return product;
  }

  Operation attention(Pass pass, std::int64_t layer) const {
    Operation operation{.name = pass == Pass::forward ? "attention" : "attention's gradient",
                        .kind = OperationKind::attention};
    const std::int64_t T = plan_.sequence_length,
                       seen = std::min(T, share_.attention[layer].window.value_or(T));
    // Half of all pairs of positions, or a window's width for each position.
    const double pairs = static_cast<double>(plan_.micro_batch * plan_.local_length()) *
                         (seen < T ? static_cast<double>(seen) : static_cast<double>(T) / 2);
    operation.flops = 4 * pairs * static_cast<double>(Q_) * (pass == Pass::forward ? 1 : 2.5);
    operation.flops_per_s = causal_attention_flops(AttentionLibrary::cudnn, pass, share_.head_dim, T);
    if (pass == Pass::backward) {
      // The kernels are deterministic: the weights' gradients are written, and read for the
      // queries' gradients.
      operation.bytes = 2 * half_bytes * pairs * static_cast<double>(share_.query_heads);
      operation.kernels = 3;
    }
    return operation;
  }

  void add_forward(std::vector<Operation>& list, std::int64_t layer, const Steps& steps) const {
    if (attends_.normalises_input) add_norm(list);
    list.push_back(Operation::matmul("qkv", R_, E_, C_));
    add_qk_norm(list);
    add_rotary(list, layer);
    list.push_back(attention(Pass::forward, layer));
    list.push_back(Operation::matmul("attention's output", R_, C_, Q_));
    add_branch_output(list, attends_);
    if (feeds_.normalises_input) add_norm(list);
    for (const model::FeedForwardStep& step : steps)
      list.push_back(step.kind == StepKind::product
                         ? Operation::matmul(step.name, R_, step.outputs, step.inputs)
                         : elementwise(step));
    add_branch_output(list, feeds_);
  }

  /// Adds the feed-forward layer's backward pass. All but the first product's gradient is made over
  /// all rows or a fixed number of rows at a time.
  void add_feed_forward_backward(std::vector<Operation>& list, const Steps& steps) const {
    const std::int64_t at_once = traits_.whole_mlp_backward ? R_ : std::min(R_, rows_of_mlp_backward);
    const double turns = static_cast<double>(ceil_div(R_, at_once));
    for (std::size_t i = steps.size(); i-- > 0;) {
      const model::FeedForwardStep& step = steps[i];
      if (step.kind == StepKind::product) {
        list.push_back(Operation::matmul(step.name + "'s input gradient", i == 0 ? R_ : at_once, step.inputs,
                                         step.outputs));
      } else {
        list.push_back(bound(
            Operation::memory(step.name + "'s gradient", bytes(step.outputs + 2 * step.inputs) / turns)));
      }
      if (i > 0) list.back().count = turns;
    }
  }
  void add_backward(std::vector<Operation>& list, std::int64_t layer, const Steps& steps) const {
    add_branch_output_gradient(list, feeds_);
    add_feed_forward_backward(list, steps);
    add_branch_input_gradient(list, feeds_);
    if (!share_.parallel_branches) add_branch_output_gradient(list, attends_);
    list.push_back(Operation::matmul("attention output's input gradient", R_, Q_, C_));
    list.push_back(attention(Pass::backward, layer));
    add_rotary(list, layer);
    add_qk_norm_backward(list);
    list.push_back(Operation::matmul("qkv's input gradient", R_, C_, E_));
    add_branch_input_gradient(list, attends_);
  }

  void add_weight(std::vector<Operation>& list, const std::string& name, std::int64_t N, std::int64_t K,
                  bool has_bias) const {
    Operation product = Operation::matmul(name, N, K, R_);
    product.result_bytes = several() ? 2 * single_bytes : single_bytes;
    list.push_back(product);
    if (has_bias && !traits_.few_instructions) list.push_back(column_sums(bytes(N)));
  }
  static Operation column_sums(double bytes) {
    Operation operation = Operation::memory("bias's gradient", bytes, 2);
    operation.efficiency = column_sums_relative;
    return operation;
  }
  void add_weights(std::vector<Operation>& list, const Steps& steps) const {
    for (const model::FeedForwardStep& step : steps | std::views::reverse) {
      if (step.kind == StepKind::product)
        add_weight(list, step.name + "'s weight gradient", step.outputs, step.inputs, step.has_bias);
    }
    add_weight(list, "attention output's weight gradient", C_, Q_, share_.attention_output_bias);
    add_weight(list, "qkv's weight gradient", E_, C_, share_.qkv_bias);
    const int norms = num_norms(attends_.normalises_input, attends_.normalises_output) +
                      num_norms(feeds_.normalises_input, feeds_.normalises_output);
    for (int norm = 0; norm < norms; ++norm)
      list.push_back(bound(Operation::memory("norm's weight gradient", norm_share() * bytes(2 * C_), 2)));
  }

  const Plan& plan_;
  const KernelFeatures& traits_;
  model::ModelSpec share_;
  std::int64_t R_, C_, Q_, E_;
  model::BranchForm attends_, feeds_;
  std::int64_t V_, P_;
};

/// Returns the operations that are done once a step. Masters and the optimizer's state are read and written.
/// Gradients are read twice (also for their norm) and zeroed. 16-bit weights are written. The average of the
/// weights is a kind of state; its update reads the masters once more.
std::vector<Operation> of_step(const Plan& plan, const KernelFeatures& traits) {
  const model::ParameterTable table(plan.spec);
  const parallel::LocalTable local(table, plan.layout, plan.place);
  double own = 0, state_bytes = 0, all = 0;
  const int groups = static_cast<int>(local.groups().size());
  for (const parallel::LocalGroup& group : local.groups()) {
    own += static_cast<double>(group.state_numel());
    all += static_cast<double>(group.numel);
  }
  for (const optim::StateKind& kind : plan.state_kinds()) {
    const parallel::StateLayout layout(local, kind);
    const auto element_bytes = static_cast<double>(dtype_bytes(kind.dtype_beside(DType::f32)));
    for (int group = 0; group < groups; ++group)
      state_bytes += static_cast<double>(layout.numel(group)) * element_bytes;
  }
  const double masters_bytes = (plan.ema > 0 ? 3 : 2) * own * single_bytes;
  Operation update =
      Operation::memory(optim::optimizer(plan.optimizer.kind).title,
                        masters_bytes + 2 * state_bytes + own * (single_bytes + half_bytes), groups);
  update.efficiency = traits.few_instructions ? 1 : instruction_bound;
  return {Operation::memory("norm of gradients", own * single_bytes, groups), update,
          Operation::memory("zeroing gradients", all * single_bytes, groups)};
}

parallel::UnitCost cost_of(const UnitOperations& unit, const GpuRates& rates) {
  return {.forward = seconds_of(unit.forward, rates),
          .backward_input = seconds_of(unit.backward_input, rates),
          .backward_weight = seconds_of(unit.backward_weight, rates)};
}

/// Adds operations to a list. Those of the same name and shape become one.
void merge(std::vector<Operation>& operations, const std::vector<Operation>& more, double times) {
  for (Operation operation : more) {
    operation.count *= times;
    const auto same = std::find_if(operations.begin(), operations.end(), [&](const Operation& other) {
      return other.name == operation.name && other.M == operation.M && other.N == operation.N &&
             other.K == operation.K && other.flops == operation.flops;
    });
    if (same == operations.end())
      operations.push_back(operation);
    else
      same->count += operation.count;
  }
}

/// Returns all operations of a step of the rank's stage.
std::vector<Operation> all_of(const Plan& plan, const StepOperations& step) {
  const model::ParameterTable table(plan.spec);
  const parallel::LocalTable local(table, plan.layout, plan.place);
  const auto micro_batches = static_cast<double>(plan.lane_plan().num_micro_batches());
  std::vector<Operation> all;
  for (const int unit : local.units()) {
    const UnitOperations& operations = step.units[static_cast<std::size_t>(unit)];
    merge(all, operations.forward, micro_batches);
    merge(all, operations.backward_input, micro_batches);
    merge(all, operations.backward_weight, micro_batches);
  }
  merge(all, step.step, 1);
  return all;
}

}  // namespace

StepOperations step_operations(const Plan& plan, const KernelFeatures& traits) {
  if (dtype_bytes(plan.precision.compute) != 2)
    throw Error(ErrorKind::usage, "--roofline supports 16-bit training only", "use --precision bf16");
  const UnitOperationsBuilder maker(plan, traits);
  StepOperations step;
  step.units.push_back(maker.embedding());
  for (std::int64_t layer = 0; layer < plan.spec.layers; ++layer) step.units.push_back(maker.block(layer));
  step.units.push_back(maker.head());
  step.step = of_step(plan, traits);
  return step;
}

std::vector<parallel::UnitCost> roofline_unit_times(const Plan& plan, const GpuRates& rates,
                                                    const KernelFeatures& traits) {
  const Plan of_first = busiest_rank_plan(plan, 0);
  std::vector<parallel::UnitCost> times;
  for (const UnitOperations& unit : step_operations(of_first, traits).units)
    times.push_back(cost_of(unit, rates));
  return times;
}

StepRoofline roofline_of(const Plan& asked, const GpuRates& rates, LinkBandwidths links,
                         const KernelFeatures& traits) {
  Plan plan = busiest_rank_plan(asked, 0);
  const Forecast forecast = forecast_step(asked, roofline_unit_times(asked, rates, traits), links);
  const std::vector<double>& computing = forecast.timeline.computing_s;
  plan.place.pp = static_cast<int>(std::max_element(computing.begin(), computing.end()) - computing.begin());
  const StepOperations step = step_operations(plan, traits);
  StepRoofline roofline;
  roofline.operations = all_of(plan, step);
  roofline.computing_s = seconds_of(roofline.operations, rates);
  roofline.step_s = std::max(roofline.computing_s, forecast.timeline.end_s() + seconds_of(step.step, rates));
  const auto tokens = static_cast<double>(plan.tokens_per_step());
  roofline.tokens_per_s = tokens / roofline.step_s;
  roofline.mfu = plan.flops_per_token() * roofline.tokens_per_s / (rates.peak_flops * plan.layout.size());
  return roofline;
}

}  // namespace dt::plan
