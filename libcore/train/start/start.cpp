#include "train/start/start.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "checkpoint/writer.hpp"
#include "comm/exchange.hpp"
#include "convert/weight_source.hpp"
#include "model/parameter_table.hpp"
#include "plan/action_lists.hpp"
#include "plan/attention.hpp"
#include "plan/time/forecast.hpp"
#include "train/report/reporter.hpp"
#include "train/start/search.hpp"

namespace dt::train {

namespace {

Start start_from_scratch(const StartRequest& origin) {
  Start start;
  comm::run_collectively(origin.ranks.world, [&] { start.plan = origin.planner.fitting_plan(); });
  start.plan.arithmetic = origin.planner.choose_arithmetic(start.plan, nullptr, origin.ranks);
  origin.make_runtime(start);
  std::string remark;
  comm::run_collectively(origin.ranks.world, [&] {
    remark = load_initial_weights(*start.runtime, start.plan);
    start.state = initial_state(start.plan, origin.dataset);
  });
  if (!remark.empty()) origin.ranks.console.warn("{}", remark);
  return start;
}

}  // namespace

model::ModelSpec choose_spec(const plan::ResumeRequest& request, const std::vector<Candidate>& candidates) {
  if (request.model) {
    model::ModelSpec spec = model::load_model_spec(*request.model);
    if (request.init_from && candidates.empty()) {
      const model::SpecialTokens special = convert::open_weights(*request.init_from)->spec().special;
      if (!special.eos.empty()) spec.special = special;
    }
    return spec;
  }
  for (const Candidate& candidate : candidates) {
    try {
      if (!candidate.local.empty()) {
        const std::string header = run::parse_local_checkpoint(candidate.local).header_text;
        return checkpoint::parse_manifest(header, candidate.path.string()).model;
      }
      return checkpoint::load_manifest(candidate.path).model;
    } catch (const Error& error) {
      if (candidate.required || error.kind() != ErrorKind::input) throw;
    }
  }
  if (request.init_from) return convert::open_weights(*request.init_from)->spec();
  throw Error(ErrorKind::usage, "--model is missing",
              fmt::format("give a config.json or one of: {}", fmt::join(model::preset_names(), ", ")));
}

void check_same_spec(const model::ModelSpec& asked, const convert::WeightSource& found,
                     const fs::path& weights) {
  if (model::same_computation(asked, found.spec())) return;
  const std::string remark = found.remark();
  throw Error(ErrorKind::input,
              fmt::format("--model is not the model in {}{}", weights.string(),
                          remark.empty() ? "" : fmt::format(" ({})", remark)),
              "leave --model out to take it from there");
}

model::SpecialTokens training_special_tokens(const model::SpecialTokens& before,
                                             const data::Mixture& dataset) {
  model::SpecialTokens special = before;
  bool is_first = true;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const std::optional<std::int64_t> eos = dataset.source(i).eos();
    if (!eos) continue;
    special = model::with_end_of_text(std::move(special), *eos, is_first);
    is_first = false;
  }
  return special;
}

void warn_changed_end_of_text(const model::SpecialTokens& before, const model::SpecialTokens& after,
                              Console& console) {
  if (before.eos.empty() || before.eos == after.eos) return;
  console.warn("the model's eos_token_id was {} and is now {}, the token that ends the data's documents{}",
               model::ends_text(before), model::ends_text(after), after.eos.size() > 1 ? " among them" : "");
}

Start prepare_start(const plan::Settings& settings, const data::Mixture& dataset,
                    const std::vector<Candidate>& candidates, const run::Promotion& promotion,
                    const plan::Launch& launch, const comm::Ranks& ranks) {
  std::optional<model::ModelSpec> spec;
  comm::run_collectively(ranks.world, [&] { spec = choose_spec(settings.resume, candidates); });
  const model::SpecialTokens given = spec->special;
  spec->special = training_special_tokens(given, dataset);
  const plan::Planner planner(settings, *spec, &dataset, launch);
  const StartRequest origin{planner, dataset, promotion, ranks};
  CheckpointSearch search(origin);
  for (const Candidate& candidate : candidates) {
    if (auto start = search.start_from(candidate)) return std::move(*start);
  }
  if (!candidates.empty()) search.fail();
  Start start = start_from_scratch(origin);
  // A preset's ids are those of another tokenizer, and the user did not choose them.
  if (!model::is_preset(start.plan.resume.model.value_or("")) || start.plan.resume.init_from)
    warn_changed_end_of_text(given, spec->special, ranks.console);
  return start;
}

std::string load_initial_weights(ModelRuntime& runtime, const plan::Plan& plan) {
  if (!plan.resume.init_from) {
    runtime.initialise_weights(plan.seed);
    return {};
  }
  const auto source = convert::open_weights(*plan.resume.init_from);
  check_same_spec(plan.spec, *source, *plan.resume.init_from);
  runtime.load_weights(*source);
  return source->remark();
}

checkpoint::TrainingState initial_state(const plan::Plan& plan, const data::Mixture& dataset) {
  checkpoint::TrainingState state;
  state.seed = plan.seed;
  state.sequence_length = plan.sequence_length;
  state.dataset_digest = dataset.content_digest();
  return state;
}

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

/// Returns "267,943 tokens to train on, 35,150 to validate; 2.29 epochs".
std::string describe_data(const plan::Plan& plan, const data::Mixture& mixture) {
  const std::uint64_t tokens = mixture.tokens(data::Split::train);
  const std::string epochs =
      mixture.size() > 1 || tokens == 0
          ? ""
          : fmt::format("; {:.3g} epochs in all", static_cast<double>(plan.total_steps) *
                                                      static_cast<double>(plan.tokens_per_step()) /
                                                      static_cast<double>(tokens));
  return fmt::format("{} to train on, {} to validate{}", pluralize(tokens, "token"),
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
    console.warn("{} {}ranks for {} micro-batch{} a step: {} of them {} nothing to compute", dp,
                 dp == num_ranks ? "" : "data-parallel ", batches, batches == 1 ? "" : "es", idle,
                 idle == 1 ? "has" : "have");
  }
  const std::int64_t steps = plan.total_steps;
  console.info("{}: {}", plan.resume.model.value_or(plan.spec.family), describe_model(plan.spec));
  console.info("{}: {}", mixture.name(), describe_data(plan, mixture));
  console.info("{} of {}, sequences of {}; {} of {} on {}", pluralize(steps, "step"),
               pluralize(plan.tokens_per_step(), "token"), format_count(to_count(plan.sequence_length)),
               pluralize(num_ranks, "rank"), pluralize(plan.threads, "thread"), describe_hosts(hosts));
  if (const std::string ignored = describe_ignored_omp_num_threads(plan.threads);
      plan.has_default_threads && !ignored.empty())
    console.info("{}", ignored);
  for (const SourceEpochs& source : source_epochs_at_end(mixture, plan, start.state))
    console.info("{}: {} by the end", source.name, describe(source, mixture));
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
        "this rank's cores lie on {} NUMA domains: a rank bound to each finds its memory near "
        "(mpirun --map-by numa --bind-to numa; srun --ntasks-per-node={} --cpu-bind=ldoms)",
        domains, domains);
  }
  if (!start.checkpoint.empty()) {
    console.info("going on from {} (step {} of {})", start.checkpoint.string(), start.state.step,
                 start.plan.total_steps);
    if (plan.resume.init_from) console.info("--init-from is not used: the run has begun");
    if (plan.logging.profile && plan.logging.profile->last <= start.state.step)
      console.warn("--profile {}: nothing is profiled, the run is past that",
                   plan.logging.profile->to_string());
  }
}

}  // namespace dt::train
