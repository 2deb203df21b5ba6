#include "plan/time/forecast.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <tuple>

#include "base/text/text.hpp"
#include "comm/sent_bytes.hpp"
#include "optim/adafactor.hpp"
#include "optim/muon.hpp"
#include "parallel/schedule/stages.hpp"
#include "parallel/state/factored_layout.hpp"
#include "parallel/state/matrix_plan.hpp"
#include "parallel/state/mesh.hpp"
#include "plan/action_lists.hpp"

namespace dt::plan {

namespace {

using parallel::Action;
using parallel::ActionKind;
using parallel::ActionList;

using parallel::CommVolume;

using comm::OperationKind;
using comm::SentBytes;

double seconds_of(const SentBytes& sent, LinkBandwidths links) {
  return sent.within_hosts / links.within_node + sent.between_hosts / links.between_nodes;
}

/// The most that an action of each kind sends. An action whose buffers have been gathered already
/// sends nothing.
using SentByAction = std::map<std::tuple<ActionKind, int, parallel::Payload>, SentBytes>;

int rank_of(const model::Layout& layout, const model::MeshCoordinates& place) {
  return ((place.pp * layout.dp + place.dp) * layout.cp + place.cp) * layout.tp + place.tp;
}

/// The hosts of a group's ranks, in the group's order, and the place of the plan's rank in it.
struct GroupHosts {
  std::vector<int> hosts{};
  int own = 0;

  SentBytes sent(OperationKind kind, DType dtype) const {
    return comm::sent_bytes(kind, 1, dtype, hosts, own);
  }
};

/// Returns the hosts of `count` ranks of parallel::Groups::data(): every `step`th from `first` on.
GroupHosts hosts_of_data_ranks(const Plan& plan, int first, int count, int step) {
  const model::Layout& layout = plan.layout;
  GroupHosts group{.own = (layout.data_rank(plan.place) - first) / step};
  for (int i = 0; i < count; ++i) {
    model::MeshCoordinates place = plan.place;
    place.cp = (first + i * step) / layout.dp;
    place.dp = (first + i * step) % layout.dp;
    group.hosts.push_back(plan.launch.host_of(rank_of(layout, place)));
  }
  return group;
}

GroupHosts hosts_of_shards(const Plan& plan) {
  const int size = plan.layout.group_size();
  return hosts_of_data_ranks(plan, plan.layout.data_rank(plan.place) / size * size, size, 1);
}

GroupHosts hosts_of_replicas(const Plan& plan) {
  const int step = plan.layout.zero == 0 ? 1 : plan.layout.group_size();
  return hosts_of_data_ranks(plan, plan.layout.data_rank(plan.place) % step, plan.layout.num_replicas(),
                             step);
}

GroupHosts hosts_of_tensor(const Plan& plan) {
  GroupHosts group{.own = plan.place.tp};
  for (model::MeshCoordinates place = {plan.place.pp, plan.place.dp, 0, plan.place.cp};
       place.tp < plan.layout.tp; ++place.tp)
    group.hosts.push_back(plan.launch.host_of(rank_of(plan.layout, place)));
  return group;
}

/// Computes what the plan's rank sends, for each byte of the buffers that operations sum or gather.
class SentBytesEstimate {
 public:
  explicit SentBytesEstimate(const Plan& plan) : plan_(plan) {
    const GroupHosts shards = hosts_of_shards(plan), replicas = hosts_of_replicas(plan),
                     tensor = hosts_of_tensor(plan);
    const DType wire = summed_as(plan.precision.wire()), compute = summed_as(plan.precision.compute);
    gather_ = shards.sent(OperationKind::all_gather, compute);
    reduce_ = plan.layout.zero == 0 ? replicas.sent(OperationKind::all_reduce, wire)
                                    : shards.sent(OperationKind::reduce_scatter, wire);
    over_replicas_ = replicas.sent(OperationKind::all_reduce, wire);
    over_tensor_ = tensor.sent(OperationKind::all_reduce, summed_as(plan.precision.gradient));
    layer_sum_ = tensor.sent(
        plan.layout.sequence_parallel ? OperationKind::reduce_scatter : OperationKind::all_reduce, compute);
    layer_gather_ = tensor.sent(OperationKind::all_gather, compute);
  }

  /// Returns what goes to the tensor-parallel ranks of the layer.
  SentBytes to_tensor_ranks(const parallel::LayerBytes& layer) const {
    SentBytes sent = static_cast<double>(layer.summed) * layer_sum_;
    return sent += static_cast<double>(layer.gathered) * layer_gather_;
  }
  /// Returns what goes to the next context-parallel rank.
  SentBytes round(const parallel::LayerBytes& layer) const {
    return one_way(static_cast<double>(layer.ring_shifted), plan_.has_context_within_nodes());
  }
  /// Returns what an action sends. `bytes` is the action's value in CommVolume::bytes_of.
  SentBytes of(const CommVolume& volume, const Action& action, std::int64_t bytes) const {
    const auto all = static_cast<double>(bytes);
    switch (action.kind) {
      case ActionKind::send: {
        model::MeshCoordinates peer = plan_.place;
        peer.pp = action.peer;
        return one_way(all, host_of(plan_.place) == host_of(peer));
      }
      case ActionKind::gather:
        return all * gather_;
      case ActionKind::control: {
        const parallel::ControlBytes control = volume.control_bytes();
        SentBytes sent = static_cast<double>(control.replicated) * over_replicas_;
        return sent += static_cast<double>(control.partial) * over_tensor_;
      }
      case ActionKind::step:
        return one_way(all, is_stage_within_a_host());
      default:
        break;
    }
    if (!action.computes()) return all * reduce_;
    const parallel::LayerBytes layer = volume.layer_bytes(action);
    SentBytes sent = to_tensor_ranks(layer);
    return sent += round(layer);
  }

 private:
  static SentBytes one_way(double bytes, bool is_near) {
    return is_near ? SentBytes{.within_hosts = bytes} : SentBytes{.between_hosts = bytes};
  }
  /// Returns the type in which values are summed. NCCL's own order has no wider partial sums between
  /// nodes.
  DType summed_as(DType dtype) const {
    return plan_.reduce_order == comm::ReduceOrder::free ? DType::f32 : dtype;
  }
  bool is_stage_within_a_host() const {
    const model::Layout& layout = plan_.layout;
    for (int rank = 0; rank < layout.size(); ++rank) {
      const model::MeshCoordinates place = layout.coordinates_of(rank);
      if (place.pp == plan_.place.pp && host_of(place) != host_of(plan_.place)) return false;
    }
    return true;
  }
  int host_of(const model::MeshCoordinates& place) const {
    return plan_.launch.host_of(rank_of(plan_.layout, place));
  }

  const Plan& plan_;
  SentBytes gather_, reduce_, over_replicas_, over_tensor_, layer_sum_, layer_gather_;
};

SentByAction sent_by_action(const Plan& plan, const CommVolume& volume, const ActionList& list,
                            const std::vector<std::int64_t>& bytes) {
  const SentBytesEstimate sending(plan);
  SentByAction most;
  for (std::size_t i = 0; i < list.size(); ++i) {
    SentBytes& known = most[{list[i].kind, list[i].unit, list[i].payload}];
    const SentBytes sent = sending.of(volume, list[i], bytes[i]);
    if (sent.total() > known.total()) known = sent;
  }
  return most;
}

double computing_s(const Action& a, const std::vector<parallel::UnitCost>& unit_times) {
  const parallel::UnitCost& unit = unit_times[static_cast<std::size_t>(a.unit)];
  if (a.kind == ActionKind::backward_input) return unit.backward_input;
  return a.kind == ActionKind::backward_weight ? unit.backward_weight : unit.forward;
}

/// Counts what the lists of a plan's rank move.
class PlanCommVolume {
 public:
  explicit PlanCommVolume(const Plan& plan)
      : table_(plan.spec),
        local_(table_, plan.layout, plan.place),
        volume_{local_,
                plan.precision,
                plan.micro_batch * plan.local_length(),
                plan.spec.hidden,
                2 *
                    model::shard_spec(plan.spec, parallel::tensor_parallel_shard(plan.layout, plan.place))
                        .key_value_heads *
                    plan.spec.head_dim,
                /*update_bytes=*/0,
                /*trains=*/true,
                parallel::block_exchanges(plan.spec)} {
    if (optim::factors_moments(plan.optimizer))
      volume_.update_bytes =
          parallel::FactoredLayout(local_).exchanged_bytes(optim::num_norms(plan.optimizer));
    if (!optim::updates_matrices(plan.optimizer)) return;
    const parallel::MatrixPlan matrices(local_);
    volume_.update_bytes =
        static_cast<std::int64_t>(storage_bytes(plan.precision.master(), matrices.sent_elements()));
    update_flops_ = matrices.busiest_flops();
  }
  const CommVolume& operator*() const { return volume_; }
  const CommVolume* operator->() const { return &volume_; }
  /// Returns the operations that the stage's busiest rank makes to update whole matrices.
  double update_flops() const { return update_flops_; }

 private:
  model::ParameterTable table_;
  parallel::LocalTable local_;
  CommVolume volume_;
  double update_flops_ = 0;
};

/// Calls `visit(plan, volume, list)` for each stage.
template <class Visit>
void for_stages(Plan plan, const std::vector<ActionList>& lists, const Visit& visit) {
  for (plan.place.pp = 0; plan.place.pp < plan.layout.pp; ++plan.place.pp)
    visit(plan, PlanCommVolume(plan), lists[static_cast<std::size_t>(plan.place.pp)]);
}

std::int64_t most_for_zero(const Plan& plan) {
  std::int64_t most = 0;
  for_stages(plan, training_lists(plan),
             [&](const Plan&, const PlanCommVolume& volume, const ActionList& list) {
               const parallel::CommBytes moved = parallel::sum_by_purpose(list, volume->bytes_of(list));
               most = std::max(most, moved.weights + moved.weight_gradients);
             });
  return most;
}

/// Returns what a rank sends in a step because of tensor and context parallelism, and what of it
/// crosses nodes. Counts the stage that sends most.
SentBytes tensor_parallel_bytes(const Plan& plan) {
  SentBytes most;
  const auto count = [&](const Plan& of_stage, const PlanCommVolume& volume, const ActionList& list) {
    const SentBytesEstimate sending(of_stage);
    SentBytes sent;
    for (const Action& action : list) {
      const parallel::LayerBytes bytes = volume->layer_bytes(action);
      sent += sending.to_tensor_ranks(bytes);
      sent += sending.round(bytes);
    }
    if (sent.total() > most.total()) most = sent;
  };
  for_stages(plan, training_lists(plan), count);
  return most;
}

std::string between_nodes(const SentBytes& sharing) {
  if (sharing.between_hosts == 0) return "";
  if (sharing.within_hosts == 0) return ", all of it between nodes";
  return fmt::format(", {} of it between nodes",
                     format_bytes(static_cast<std::uint64_t>(sharing.between_hosts)));
}

}  // namespace

std::vector<parallel::UnitCost> predicted_unit_times(const Plan& plan, double rank_flops) {
  std::vector<parallel::UnitCost> times = parallel::unit_costs(plan.spec, plan.sequence_length, false);
  const double tokens = static_cast<double>(plan.micro_batch * plan.sequence_length);
  for (parallel::UnitCost& unit : times) {
    for (double* cost : {&unit.forward, &unit.backward_input, &unit.backward_weight})
      *cost *= tokens / rank_flops / (plan.layout.tp * plan.layout.cp);
  }
  return times;
}

std::vector<std::int64_t> comm_bytes_per_action(const Plan& plan, const ActionList& list) {
  return PlanCommVolume(plan)->bytes_of(list);
}

LinkBandwidths link_bandwidths(const ForecastRequest& request) {
  return {request.node_bandwidth.value_or(request.link_bandwidth), request.link_bandwidth};
}

Forecast forecast_step(const Plan& asked, const std::vector<parallel::UnitCost>& unit_times,
                       LinkBandwidths links) {
  const Plan plan = busiest_rank_plan(asked, 0);
  Forecast forecast{pipeline_of(plan), training_lists(plan), {}, {}};
  std::vector<SentByAction> sent;
  std::vector<double> update_s;  // to update whole matrices
  for_stages(plan, forecast.lists,
             [&](const Plan& of_stage, const PlanCommVolume& volume, const ActionList& list) {
               const std::vector<std::int64_t> bytes = volume->bytes_of(list);
               update_s.push_back(volume.update_flops() / plan.forecast.rank_flops);
               sent.push_back(sent_by_action(of_stage, *volume, list, bytes));
               forecast.comm_bytes.push_back(parallel::sum_by_purpose(list, bytes));
             });
  const auto seconds = [&](int rank, const Action& a) {
    double computing = a.computes() ? computing_s(a, unit_times) : 0;
    if (a.kind == ActionKind::step) computing += update_s[static_cast<std::size_t>(rank)];
    const SentByAction& actions = sent[static_cast<std::size_t>(rank)];
    const auto found = actions.find({a.kind, a.unit, a.payload});
    return found == actions.end() ? computing : computing + seconds_of(found->second, links);
  };
  forecast.timeline = parallel::simulate_timeline(forecast.lists, 1, {seconds, plan.overlap});
  return forecast;
}

double predicted_bubble_ratio(const Plan& plan) {
  return forecast_step(plan, predicted_unit_times(plan, 1), std::numeric_limits<double>::infinity())
      .timeline.bubble_ratio();
}

std::string describe_pipeline(const Plan& plan) {
  const parallel::Stages stages = pipeline_of(plan).stages;
  std::vector<int> counts;
  for (int stage = 0; stage < stages.num_stages(); ++stage)
    counts.push_back(stages.end(stage) - stages.begin(stage));
  const std::string virtual_stages =
      plan.layout.virtual_stages > 1
          ? fmt::format("{} virtual stages on {} ranks", stages.num_stages(), plan.layout.pp)
          : fmt::format("{} stages", stages.num_stages());
  return fmt::format(
      "{} of {} units, {}, {} micro-batch{}: predicted bubble {:.1f} % of the busiest stage's compute time",
      virtual_stages, fmt::join(counts, "+"), name_of(plan.layout.schedule), plan.max_micro_batches(),
      plan.max_micro_batches() == 1 ? "" : "es", 100 * predicted_bubble_ratio(plan));
}

std::string describe_tensor_parallelism(const Plan& asked) {
  const Plan plan = busiest_rank_plan(asked, 0);
  const SentBytes sharing = tensor_parallel_bytes(plan);
  const std::string ranks =
      plan.layout.cp == 1   ? fmt::format("tensor parallelism over {} ranks", plan.layout.tp)
      : plan.layout.tp == 1 ? fmt::format("context parallelism over {} ranks", plan.layout.cp)
                            : fmt::format("tensor parallelism over {} ranks, context parallelism over {}",
                                          plan.layout.tp, plan.layout.cp);
  return fmt::format("{}{}: each rank sends {} per step{}", ranks,
                     plan.layout.sequence_parallel ? ", sequence parallelism" : "",
                     format_bytes(static_cast<std::uint64_t>(sharing.total())), between_nodes(sharing));
}

std::string describe_zero_comm_cost(const Plan& asked) {
  if (asked.layout.pp == 1 || asked.layout.zero < 2) return "";
  const Plan plan = busiest_rank_plan(asked, 0);
  Plan without = plan;
  without.layout.zero = 1;
  const std::int64_t bytes = most_for_zero(plan), least = most_for_zero(without);
  return fmt::format(
      "--zero {} with --pp {} communicates {} per step and rank, compared with {} for --zero 1: it {} for "
      "each micro-batch",
      plan.layout.zero, plan.layout.pp, format_bytes(static_cast<std::uint64_t>(bytes)),
      format_bytes(static_cast<std::uint64_t>(least)),
      plan.layout.zero == 3 ? "gathers weights and reduces gradients" : "reduces gradients");
}

}  // namespace dt::plan
