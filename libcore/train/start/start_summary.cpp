#include "train/start/start_summary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "model/parameter_table.hpp"
#include "plan/action_lists.hpp"
#include "plan/attention.hpp"
#include "plan/time/forecast.hpp"
#include "train/report/source_epochs.hpp"

namespace dt::train {

namespace {

/// Reports each stage's ranks. For a lost rank, a launcher reports only its number.
void announce_stages(const plan::Plan& plan, Console& console) {
  if (plan.layout.pp == 1) return;
  const int each = plan.layout.size() / plan.layout.pp;
  for (int stage = 0; stage < plan.layout.pp; ++stage) {
    const int first = stage * each, last = first + each - 1;
    const std::string ranks =
        each == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {}", first, last);
    console.info("{}: {}", ranks, plan::describe_stage(plan, stage));
  }
}

std::uint64_t to_count(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::string describe_model(const model::ModelSpec& spec) {
  return fmt::format("{}, {}, hidden {}, {}", spec.family, pluralize(spec.layers, "layer"), spec.hidden,
                     pluralize(model::ParameterTable(spec).num_parameters(), "parameter"));
}

/// Returns "267,943 tokens for training, 35,150 for validation; 2.29 epochs in total".
std::string describe_data(const plan::Plan& plan, const data::Mixture& mixture) {
  const std::uint64_t tokens = mixture.tokens(data::Split::train);
  const std::string epochs =
      mixture.size() > 1 || tokens == 0
          ? ""
          : fmt::format("; {:.3g} epochs in total", static_cast<double>(plan.total_steps) *
                                                        static_cast<double>(plan.tokens_per_step()) /
                                                        static_cast<double>(tokens));
  return fmt::format("{} for training, {} for validation{}", pluralize(tokens, "token"),
                     format_count(mixture.tokens(data::Split::validation)), epochs);
}

/// Returns "2 hosts: n1 (4), n2 (4)". Long lists are truncated.
std::string describe_hosts(const std::vector<std::string>& of_ranks) {
  constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, int>> counts;
  for (const std::string& host : of_ranks) {
    const auto known = std::ranges::find(counts, host, &std::pair<std::string, int>::first);
    if (known == counts.end()) {
      counts.emplace_back(host, 1);
    } else {
      known->second += 1;
    }
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(most, counts.size()); ++i)
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", counts[i].first, counts[i].second);
  return fmt::format("{}: {}{}", pluralize(counts.size(), "host"), names, counts.size() > most ? ", …" : "");
}

}  // namespace

void print_summary(const Start& start, const data::Mixture& mixture, const std::vector<std::string>& hosts,
                   Console& console) {
  const plan::Plan& plan = start.plan;
  const int dp = plan.layout.dp, num_ranks = plan.layout.size();
  if (dp > plan.micro_batches_per_step) {
    const std::int64_t batches = plan.micro_batches_per_step, idle = dp - batches;
    console.warn("{} {}ranks for {} micro-batch{} per step: {} of them {} nothing to compute", dp,
                 dp == num_ranks ? "" : "data-parallel ", batches, batches == 1 ? "" : "es", idle,
                 idle == 1 ? "has" : "have");
  }
  const std::int64_t steps = plan.total_steps;
  console.info("{}: {}", plan.resume.model.value_or(plan.spec.family), describe_model(plan.spec));
  console.info("{}: {}", mixture.name(), describe_data(plan, mixture));
  console.info("{} of {}, sequence length {}; {} of {} on {}", pluralize(steps, "step"),
               pluralize(plan.tokens_per_step(), "token"), format_count(to_count(plan.sequence_length)),
               pluralize(num_ranks, "rank"), pluralize(plan.threads, "thread"), describe_hosts(hosts));
  if (const std::string ignored = describe_ignored_omp_num_threads(plan.threads);
      plan.has_default_threads && !ignored.empty())
    console.info("{}", ignored);
  for (const SourceEpochs& source : source_epochs_at_end(mixture, plan, start.state))
    console.info("{}: {} in total", source.name, describe(source, mixture));
  if (plan.layout.pp > 1) console.info("{}", plan::describe_pipeline(plan));
  if (const std::string price = plan::describe_zero_comm_cost(plan); !price.empty())
    console.info("{}", price);
  if (!plan.has_tensor_within_nodes() || !plan.has_context_within_nodes())
    console.warn("{}", plan::describe_tensor_parallelism(plan));
  else if (plan.layout.tp * plan.layout.cp > 1)
    console.info("{}", plan::describe_tensor_parallelism(plan));
  if (const std::string slow = plan::describe_slow_attention(plan); !slow.empty()) console.info("{}", slow);
  announce_stages(plan, console);
  if (const std::size_t domains = numa_domains(available_core_numbers()).size(); domains > 1) {
    console.info(
        "this rank's cores span {} NUMA domains: with one rank bound to each, memory accesses are local "
        "(mpirun of Open MPI or MPICH: --map-by numa --bind-to numa; srun: --ntasks-per-node={} "
        "--cpu-bind=ldoms)",
        domains, domains);
  }
  if (!start.checkpoint.empty()) {
    console.info("resuming from {} (step {} of {})", start.checkpoint.string(), start.state.step,
                 start.plan.total_steps);
    if (plan.resume.init_from) console.info("--init-from is ignored: the run has already started");
    if (plan.profiled_steps && plan.profiled_steps->last <= start.state.step)
      console.warn("--profile {} has no effect: the run has passed these steps", *plan.logging.profile);
  }
}

}  // namespace dt::train
