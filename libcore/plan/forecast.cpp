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

/// The most that an action of a kind sends; what has been brought together already sends nothing.
using BytesByAction = std::map<std::tuple<ActionKind, int, parallel::Payload>, double>;

BytesByAction sent_by_action(const Traffic& traffic, const ActionList& list,
                             const std::vector<std::int64_t>& bytes) {
  BytesByAction most;
  for (std::size_t i = 0; i < list.size(); ++i) {
    double& known = most[{list[i].kind, list[i].unit, list[i].payload}];
    known = std::max(known, traffic.sent_of(list[i], bytes[i]));
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

/// `visit(traffic, list)` of each stage.
template <class Visit>
void for_stages(Plan plan, const std::vector<ActionList>& lists, const Visit& visit) {
  for (plan.place.pp = 0; plan.place.pp < plan.layout.pp; ++plan.place.pp)
    visit(*PlanTraffic(plan), lists[static_cast<std::size_t>(plan.place.pp)]);
}

std::int64_t most_for_zero(const Plan& plan) {
  std::int64_t most = 0;
  for_stages(plan, training_lists(plan), [&](const Traffic& traffic, const ActionList& list) {
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
  for_stages(plan, training_lists(plan), [&](const Traffic& traffic, const ActionList& list) {
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

Forecast forecast_step(const Plan& asked, const std::vector<parallel::UnitCost>& unit_times,
                       double link_bandwidth) {
  const Plan plan = busiest(asked, 0);
  Forecast forecast{pipeline_of(plan), training_lists(plan), {}, {}};
  std::vector<BytesByAction> sent;
  for_stages(plan, forecast.lists, [&](const Traffic& traffic, const ActionList& list) {
    const std::vector<std::int64_t> bytes = traffic.bytes_of(list);
    sent.push_back(sent_by_action(traffic, list, bytes));
    forecast.moved.push_back(parallel::by_purpose(list, bytes));
  });
  const auto seconds = [&](int rank, const Action& a) {
    const double computing = a.computes() ? computing_s(a, unit_times) : 0;
    const BytesByAction& bytes = sent[static_cast<std::size_t>(rank)];
    const auto found = bytes.find({a.kind, a.unit, a.payload});
    return found == bytes.end() ? computing : computing + found->second / link_bandwidth;
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
