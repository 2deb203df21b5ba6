#include "plan/forecast.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <tuple>

#include "base/text.hpp"
#include "parallel/tensor_seam.hpp"
#include "parallel/unit_costs.hpp"
#include "plan/lists.hpp"

namespace dt::plan {

namespace {

using parallel::Action;
using parallel::ActionKind;
using parallel::ActionList;

using parallel::Traffic;

/// What a rank sends within its node, and to others.
struct Sent {
  double within = 0, between = 0;
  double total() const { return within + between; }
  double seconds(Links links) const { return within / links.within_node + between / links.between_nodes; }
};

/// The most that an action of a kind sends; what has been brought together already sends nothing.
using SentByAction = std::map<std::tuple<ActionKind, int, parallel::Payload>, Sent>;

/// The first rank of a stage lies on that node; 0 where all lie on one.
int node_of_stage(const Plan& plan, int stage) {
  const int per_node = plan.launch.ranks_per_node, ranks = plan.layout.size();
  const int first = stage * (ranks / plan.layout.pp) + plan.place.dp * plan.layout.tp;
  return per_node > 0 ? first / per_node : 0;
}

bool is_on_one_node(const Plan& plan) {
  return plan.launch.ranks_per_node >= plan.layout.size();
}

/// What is summed or gathered over `ranks` data ranks: in each node's k of them first, (k − 1)/k of it, then
/// among n nodes a k-th of (n − 1)/n.
Sent among_data_ranks(const Plan& plan, int ranks, double bytes) {
  if (is_on_one_node(plan) || ranks == 1) return {.within = bytes};
  const int on_node = std::clamp(plan.launch.ranks_per_node / plan.layout.tp, 1, ranks);
  const double k = on_node, nodes = ranks / k, all = (ranks - 1.0) / ranks;
  return {.within = bytes * (k - 1) / k / all, .between = bytes * (nodes - 1) / nodes / k / all};
}

Sent sent_of(const Plan& plan, const Traffic& traffic, const Action& action, std::int64_t bytes) {
  const double sent = traffic.sent_of(action, bytes);
  if (action.computes()) {
    const parallel::LayerBytes layer = traffic.layer_bytes(action);
    const double tensor = layer.sent_among_sharers(plan.layout), context = sent - tensor;
    Sent parts;
    (plan.has_tensor_within_nodes() ? parts.within : parts.between) += tensor;
    (plan.has_context_within_nodes() ? parts.within : parts.between) += context;
    return parts;
  }
  if (action.kind == ActionKind::send) {
    const bool is_near =
        is_on_one_node(plan) || (plan.launch.ranks_per_node > 0 &&
                                 node_of_stage(plan, plan.place.pp) == node_of_stage(plan, action.peer));
    return is_near ? Sent{.within = sent} : Sent{.between = sent};
  }
  if (action.kind == ActionKind::control) return among_data_ranks(plan, plan.layout.data_ranks(), sent);
  return among_data_ranks(plan, plan.layout.group_size(), sent);
}

SentByAction sent_by_action(const Plan& plan, const Traffic& traffic, const ActionList& list,
                            const std::vector<std::int64_t>& bytes) {
  SentByAction most;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Sent& known = most[{list[i].kind, list[i].unit, list[i].payload}];
    const Sent sent = sent_of(plan, traffic, list[i], bytes[i]);
    if (sent.total() > known.total()) known = sent;
  }
  return most;
}

double computing_s(const Action& a, const std::vector<parallel::UnitCost>& unit_times) {
  const parallel::UnitCost& unit = unit_times[static_cast<std::size_t>(a.unit)];
  if (a.kind == ActionKind::backward_input) return unit.backward_input;
  return a.kind == ActionKind::backward_weight ? unit.backward_weight : unit.forward;
}

/// What the lists of a plan's rank move.
class PlanTraffic {
 public:
  explicit PlanTraffic(const Plan& plan)
      : table_(plan.spec),
        local_(table_, plan.layout, plan.place),
        traffic_{local_, plan.precision, plan.micro_batch * plan.local_length(), plan.spec.hidden,
                 2 * model::share_of(plan.spec, parallel::share_of(plan.layout, plan.place)).key_value_heads *
                     plan.spec.head_dim} {}
  const Traffic& operator*() const { return traffic_; }
  const Traffic* operator->() const { return &traffic_; }

 private:
  model::ParameterTable table_;
  parallel::LocalTable local_;
  Traffic traffic_;
};

/// `visit(plan, traffic, list)` of each stage.
template <class Visit>
void for_stages(Plan plan, const std::vector<ActionList>& lists, const Visit& visit) {
  for (plan.place.pp = 0; plan.place.pp < plan.layout.pp; ++plan.place.pp)
    visit(plan, *PlanTraffic(plan), lists[static_cast<std::size_t>(plan.place.pp)]);
}

std::int64_t most_for_zero(const Plan& plan) {
  std::int64_t most = 0;
  for_stages(plan, training_lists(plan), [&](const Plan&, const Traffic& traffic, const ActionList& list) {
    const parallel::MovedBytes moved = parallel::by_purpose(list, traffic.bytes_of(list));
    most = std::max(most, moved.weights + moved.weight_gradients);
  });
  return most;
}

/// What a rank sends in a step because layers are shared or sequences divided, and what of it crosses nodes;
/// of the stage that sends most.
struct Sharing {
  double sent = 0, crossing = 0;
};

Sharing sharing_of(const Plan& plan) {
  Sharing most;
  for_stages(plan, training_lists(plan), [&](const Plan&, const Traffic& traffic, const ActionList& list) {
    double tensor = 0, context = 0;
    for (const Action& action : list) {
      const parallel::LayerBytes bytes = traffic.layer_bytes(action);
      tensor += bytes.sent_among_sharers(plan.layout);
      context += static_cast<double>(bytes.passed_on);
    }
    if (tensor + context <= most.sent) return;
    most = {tensor + context,
            (plan.has_tensor_within_nodes() ? 0 : tensor) + (plan.has_context_within_nodes() ? 0 : context)};
  });
  return most;
}

std::string over_network(const Sharing& sharing) {
  if (sharing.crossing == 0) return "";
  const std::string part = sharing.crossing == sharing.sent
                               ? ""
                               : ", " + format_bytes(static_cast<std::uint64_t>(sharing.crossing));
  return part + " over the network: a node does not hold them all";
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

std::vector<std::int64_t> moved_bytes_of(const Plan& plan, const ActionList& list) {
  return PlanTraffic(plan)->bytes_of(list);
}

Plan busiest(Plan plan, int stage) {
  plan.place = {stage, 0, plan.layout.tp - 1};
  const auto first = [&](std::int64_t rank) { return rank * plan.micro_batches_per_step / plan.layout.dp; };
  while (first(plan.place.dp + 1) - first(plan.place.dp) < plan.rounds()) ++plan.place.dp;
  return plan;
}

Links links_of(const Settings& s) {
  return {s.node_bandwidth.value_or(s.link_bandwidth), s.link_bandwidth};
}

Forecast forecast_step(const Plan& asked, const std::vector<parallel::UnitCost>& unit_times, Links links) {
  const Plan plan = busiest(asked, 0);
  Forecast forecast{pipeline_of(plan), training_lists(plan), {}, {}};
  std::vector<SentByAction> sent;
  for_stages(plan, forecast.lists, [&](const Plan& of_stage, const Traffic& traffic, const ActionList& list) {
    const std::vector<std::int64_t> bytes = traffic.bytes_of(list);
    sent.push_back(sent_by_action(of_stage, traffic, list, bytes));
    forecast.moved.push_back(parallel::by_purpose(list, bytes));
  });
  const auto seconds = [&](int rank, const Action& a) {
    const double computing = a.computes() ? computing_s(a, unit_times) : 0;
    const SentByAction& actions = sent[static_cast<std::size_t>(rank)];
    const auto found = actions.find({a.kind, a.unit, a.payload});
    return found == actions.end() ? computing : computing + found->second.seconds(links);
  };
  forecast.timeline = parallel::walk_together(forecast.lists, 1, {seconds, plan.overlap});
  return forecast;
}

double predicted_bubble(const Plan& plan) {
  return forecast_step(plan, predicted_unit_times(plan, 1), std::numeric_limits<double>::infinity())
      .timeline.bubble();
}

std::string describe_pipeline(const Plan& plan) {
  const parallel::Stages stages = pipeline_of(plan).stages;
  std::vector<int> counts;
  for (int stage = 0; stage < stages.num(); ++stage)
    counts.push_back(stages.end(stage) - stages.begin(stage));
  const std::string virtual_stages =
      plan.layout.virtual_stages > 1
          ? fmt::format("{} virtual stages on {} ranks", stages.num(), plan.layout.pp)
          : fmt::format("{} stages", stages.num());
  return fmt::format("{} of {} units, {}, {} micro-batch{}: predicted bubble {:.1f} % over the busiest stage",
                     virtual_stages, fmt::join(counts, "+"), model::schedule_name(plan.layout.schedule),
                     plan.rounds(), plan.rounds() == 1 ? "" : "es", 100 * predicted_bubble(plan));
}

std::string describe_sharing(const Plan& asked) {
  const Plan plan = busiest(asked, 0);
  const Sharing sharing = sharing_of(plan);
  const std::string ranks =
      plan.layout.cp == 1   ? fmt::format("each layer is shared by {}", plan.layout.tp)
      : plan.layout.tp == 1 ? fmt::format("each sequence is divided among {}", plan.layout.cp)
                            : fmt::format("each layer is shared by {} ranks, each sequence divided among {}",
                                          plan.layout.tp, plan.layout.cp);
  return fmt::format("{} ranks{}, who each send {} a step{}", ranks,
                     plan.layout.sequence_parallel ? ", and the rows of what is not cut" : "",
                     format_bytes(static_cast<std::uint64_t>(sharing.sent)), over_network(sharing));
}

std::string price_of_zero(const Plan& asked) {
  if (asked.layout.pp == 1 || asked.layout.zero < 2) return "";
  const Plan plan = busiest(asked, 0);
  Plan without = plan;
  without.layout.zero = 1;
  const std::int64_t bytes = most_for_zero(plan), least = most_for_zero(without);
  return fmt::format(
      "--zero {} under --pp {} gathers and reduces {} a step and rank, where --zero 1 would {}: each "
      "micro-batch's {}",
      plan.layout.zero, plan.layout.pp, format_bytes(static_cast<std::uint64_t>(bytes)),
      format_bytes(static_cast<std::uint64_t>(least)),
      plan.layout.zero == 3 ? "weights and gradients" : "gradients");
}

}  // namespace dt::plan
