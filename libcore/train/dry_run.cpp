#include <algorithm>
#include <fmt/ranges.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/json.hpp"
#include "base/numeric/integer.hpp"
#include "base/system/host.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"
#include "checkpoint/reader.hpp"
#include "comm/exchange.hpp"
#include "convert/weight_source.hpp"
#include "data/read/loader.hpp"
#include "model/parameter_scope.hpp"
#include "model/parameter_table.hpp"
#include "parallel/schedule/drawing/drawing.hpp"
#include "plan/memory/memory_estimate.hpp"
#include "plan/memory/memory_fit.hpp"
#include "plan/precision.hpp"
#include "plan/resumable.hpp"
#include "plan/time/forecast.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"
#include "train/evaluate/evaluation.hpp"
#include "train/report/source_epochs.hpp"
#include "train/run.hpp"
#include "train/start/idle_ranks.hpp"
#include "train/start/schedule_change.hpp"
#include "train/start/start.hpp"

namespace dt::train {

namespace {

using Json = nlohmann::ordered_json;

/// Checks that the nearest existing folder of a path is writable.
void check_writable(const char* option, const fs::path& path) {
  fs::path folder = fs::absolute(path);
  while (!path_exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  if (!folder_exists(folder) || ::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw environment_error("cannot write to {}, which would hold --{} {}", folder.string(), option,
                            path.string());
  }
}

/// Returns the newest candidate that can be read, and sets `path` to the candidate's. Warns
/// of the candidates that it skips.
std::optional<checkpoint::Reader> newest_readable(const std::vector<Candidate>& candidates, std::string& path,
                                                  Console& console) {
  for (const Candidate& candidate : candidates) {
    try {
      const std::string why = candidate.required ? "" : run::why_excluded(candidate.path);
      if (!why.empty()) throw Error(ErrorKind::input, why);
      checkpoint::Reader reader(candidate.path);
      checkpoint::require_optimizer_state(reader);
      path = candidate.path.string();
      return reader;
    } catch (const Error& error) {
      if (candidate.required || error.kind() != ErrorKind::input) throw;
      console.warn("would skip {}: {}", candidate.path.string(), error.message());
    }
  }
  return std::nullopt;
}

/// Returns the most checkpoints that the run directory holds at once. These are the ones that
/// --keep-last and --keep-every keep, and a new one, as it is written before an old one is removed.
std::int64_t peak_num_checkpoints(const plan::SaveRequest& save, std::int64_t steps) {
  const std::int64_t saves = save.every > 0 ? ceil_div(steps, save.every) : 1;
  if (!save.keep_last || saves <= *save.keep_last) return saves;
  const std::int64_t kept_apart =
      save.keep_every > 0 && save.every > 0 ? steps / std::lcm(save.keep_every, save.every) : 0;
  return std::min(saves, *save.keep_last + kept_apart + 1);
}

/// Returns the bytes of a checkpoint, over all ranks: weights and the optimizer's state.
std::uint64_t checkpoint_bytes(const model::ParameterTable& table, const plan::Plan& plan) {
  const DType masters = plan.precision.master();
  std::uint64_t bytes = storage_bytes(masters, table.num_parameters());
  for (const optim::StateKind& kind : plan.state_kinds())
    bytes += storage_bytes(kind.dtype_beside(masters), model::count_state_elements(table, kind));
  return bytes;
}

double step_seconds(const plan::Plan& plan) {
  return plan::forecast_step(plan, plan::predicted_unit_times(plan, plan.forecast.rank_flops),
                             plan::link_bandwidths(plan.forecast))
      .timeline.end_s();
}

void add_times_and_disk(Json& json, const plan::Plan& plan, std::int64_t done) {
  const double step_s = step_seconds(plan);
  const std::int64_t checkpoints = peak_num_checkpoints(plan.save, plan.total_steps);
  json["step_s"] = step_s;
  json["total_s"] = step_s * static_cast<double>(std::max<std::int64_t>(0, plan.total_steps - done));
  json["checkpoints"] = checkpoints;
  json["disk_bytes"] =
      static_cast<std::uint64_t>(checkpoints) * checkpoint_bytes(model::ParameterTable(plan.spec), plan);
}

/// Returns the passes over the single dataset by the run's end.
double epochs_by_the_end(const data::Mixture& dataset, const plan::Plan& plan,
                         const checkpoint::TrainingState& state) {
  const std::int64_t steps = std::max<std::int64_t>(0, plan.total_steps - state.step);
  const double samples = static_cast<double>(state.samples_consumed) +
                         static_cast<double>(steps) * static_cast<double>(plan.global_batch);
  const auto samplers = data::samplers_of(dataset, plan.seed, plan.sequence_length);
  return samples / static_cast<double>(samplers.front().num_windows());
}

void add_data(Json& json, const data::Mixture& dataset, const plan::Plan& plan,
              const checkpoint::TrainingState& state) {
  json["train_tokens"] = dataset.tokens(data::Split::train);
  json["val_tokens"] = dataset.tokens(data::Split::validation);
  if (dataset.size() == 1) json["epochs"] = epochs_by_the_end(dataset, plan, state);
}

Json describe(const plan::Plan& plan, std::int64_t done, const std::string& origin) {
  const model::ParameterTable table(plan.spec);
  const std::vector<plan::MemoryEstimate> stages = plan::estimate_memory(plan);
  const auto most = std::max_element(stages.begin(), stages.end(),
                                     [](const auto& a, const auto& b) { return a.total() < b.total(); });
  const plan::MemoryEstimate& memory = *most;
  const std::uint64_t tokens =
      static_cast<std::uint64_t>(plan.total_steps) * static_cast<std::uint64_t>(plan.tokens_per_step());
  Json json{{"from", escape_invalid_utf8(origin)},
            {"parameters", table.num_parameters()},
            {"steps_done", done},
            {"steps", plan.total_steps},
            {"tokens_per_step", plan.tokens_per_step()},
            {"tokens", tokens},
            {"sequence_length", plan.sequence_length},
            {"global_batch", plan.global_batch},
            {"micro_batch", plan.micro_batch},
            {"grad_lanes", plan.grad_lanes},
            {"precision", precision_name(plan.precision.compute)},
            {"grad_dtype", precision_name(plan.precision.gradient)},
            {"reduce_dtype", precision_name(plan.precision.wire())},
            {"matmul", plan.matmul ? name_of(*plan.matmul) : "auto"},
            {"recompute", name_of(plan.recompute)},
            {"mask_documents", plan.mask_documents},
            {"optimizer", name_of(plan.optimizer.kind)},
            {"warmup_steps", plan.schedule.warmup_steps},
            {"schedule", parse_json(describe_schedule(plan.schedule), {"schedule"})},
            {"flops_per_token", plan.flops_per_token()},
            {"ranks", plan.layout.size()},
            {"pp", plan.layout.pp},
            {"pp_schedule", name_of(plan.layout.schedule)},
            {"virtual_stages", plan.layout.virtual_stages},
            {"stage_units", fmt::format("{}", fmt::join(model::stage_counts(plan.layout.stages), ","))},
            {"dp", plan.layout.dp},
            {"cp", plan.layout.cp},
            {"tp", plan.layout.tp},
            {"sequence_parallel", plan.layout.sequence_parallel},
            {"zero", plan.layout.zero},
            {"threads", plan.threads},
            {"most_loaded_stage", most - stages.begin()},
            {"weights_bytes", memory.storage.weights},
            {"gradients_bytes", memory.storage.gradients},
            {"optimizer_bytes", memory.storage.optimizer},
            {"gathered_bytes", memory.storage.gathered},
            {"activations_bytes", memory.activations},
            {"batches_bytes", memory.batches},
            {"copy_bytes", memory.checkpoint_copy},
            {"arriving_bytes", memory.receive_buffers},
            {"memory_bytes", memory.total()},
            {"checkpoint_bytes", memory.storage.checkpoint},
            {"device", name_of(plan.device.kind())}};
  if (const std::string scales = plan.parameter_settings.describe_lr_scale(); !scales.empty())
    json["lr_scale"] = scales;
  if (const std::string classes = plan.parameter_settings.describe_no_decay(); !classes.empty())
    json["no_decay"] = classes;
  if (const plan::Mup& mup = plan.parameter_settings.mup; mup.base_width() > 0) {
    json["mup_base_width"] = mup.base_width();
    json["mup_base_head_dim"] = mup.base_head_dim();
  }
  if (plan.optimizer.moments != optim::MomentType::master) json["moments"] = name_of(plan.optimizer.moments);
  if (plan.ema > 0) json["ema"] = plan.ema;
  if (plan.qk_clip > 0) json["qk_clip"] = plan.qk_clip;
  json["host_memory_bytes"] = plan::host_memory_bytes(plan, stages);
  if (plan.device != Device::host()) {
    json["workspaces_bytes"] = memory.workspaces;
    json["pinned_bytes"] = memory.pinned;
    json["combining_bytes"] = memory.reduce_buffers;
    json["nccl_bytes"] = memory.nccl;
    json["nccl_host_bytes"] = memory.nccl_host;
    json["context_bytes"] = memory.context;
    json["gpu"] = plan.launch.gpu.name;
    json["gpu_memory_bytes"] = plan::gpu_memory_bytes(plan);
  }
  return json;
}

void print_table(const Json& plan, Console& console) {
  for (const auto& [name, value] : plan.items()) {
    std::string text = value.is_string()         ? value.get<std::string>()
                       : value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                                                 : value.dump();
    if (name.ends_with("_bytes"))
      text = format_bytes(value.get<std::uint64_t>());
    else if (name.ends_with("_s"))
      text = value < 1 ? parallel::format_short_time(value) : format_duration(value);
    else if (value.is_number_unsigned() || value.is_number_integer())
      text = format_count(value.get<std::uint64_t>());
    console.print("{:<18} {}\n", name, printable_line(text));
  }
}

void add_sources(Json& plan, const std::vector<SourceEpochs>& sources) {
  for (const SourceEpochs& source : sources) {
    plan["sources"][escape_invalid_utf8(source.name)] = {{"weight", source.weight},
                                                         {"samples", source.samples},
                                                         {"windows", source.windows},
                                                         {"epochs", source.epochs()}};
  }
}

/// Warns if memory does not suffice. This is no error, since the job may run on other hosts.
void warn_of_memory(const plan::Planner& planner, const plan::Plan& plan,
                    const checkpoint::TrainingState* resumed, Console& console) {
  const auto warn = [&](const char* whose, const plan::Planner::NeededBytes& needed_bytes,
                        std::uint64_t here) {
    const std::uint64_t needed = needed_bytes(plan);
    if (needed <= here) return;
    const std::string fitting = planner.suggest_options_that_fit(plan, resumed, needed_bytes, here);
    console.warn("this run needs {} of memory per {}; at most {} is available here{}", format_bytes(needed),
                 whose, format_bytes(here), fitting.empty() ? "" : "; use " + fitting);
  };
  if (plan.device != Device::host()) warn("GPU", plan::gpu_memory_bytes, plan::usable_gpu_bytes(plan));
  const auto of_host = [](const plan::Plan& p) {
    return plan::host_memory_bytes(p, plan::estimate_memory(p));
  };
  warn("host", of_host, usable_memory_bytes());
}

void check_and_describe(const plan::Settings& settings, const plan::Launch& launch, Console& console) {
  const bool is_on_paper = settings.ranks.has_value();
  if (launch.device == Device::host() && !is_on_paper) plan::check_arithmetic(settings);
  std::optional<data::Mixture> dataset;
  if (settings.data.mixture.empty())
    console.info("without --data, the number of epochs and the fit of the vocabulary are unknown");
  else
    dataset.emplace(settings.data.mixture);
  std::optional<run::RunDirectory> run;
  if (settings.resume.run) {
    check_writable("run", *settings.resume.run);
    run.emplace(*settings.resume.run);
    run::RunLock::require_not_held(*run);
  }
  if (settings.save.local_folder) {
    check_writable("checkpoint-local", *settings.save.local_folder);
    console.info(
        "--dry-run does not look for local checkpoints on nodes: a start may resume from a newer one");
  }
  const std::vector<Candidate> candidates = resume_candidates(settings.resume, run ? &*run : nullptr);
  const model::ModelSpec spec = choose_spec(settings.resume, candidates);
  std::string origin = "initial weights";
  if (settings.resume.init_from) {
    origin = *settings.resume.init_from;
    check_same_spec(spec, *convert::open_weights(*settings.resume.init_from), *settings.resume.init_from);
  }
  const auto reader = newest_readable(candidates, origin, console);
  const checkpoint::Manifest* const manifest = reader ? &reader->manifest() : nullptr;
  if (!candidates.empty() && manifest == nullptr) {
    throw input_error("none of the run's {} can be read", pluralize(candidates.size(), "checkpoint"));
  }
  const plan::Planner planner(settings, spec, dataset ? &*dataset : nullptr, launch);
  const checkpoint::TrainingState* const resumed = manifest != nullptr ? &manifest->state : nullptr;
  const plan::Plan plan = planner.plan(resumed);
  if (manifest != nullptr)
    plan::check_resumable(plan, *manifest, reader->pieces(),
                          dataset ? dataset->content_digest() : manifest->state.dataset_digest);
  const checkpoint::TrainingState state = manifest != nullptr ? manifest->state : checkpoint::TrainingState{};
  if (state.step == 0 && dataset) check_validation_targets(*dataset, evaluation_request(plan));
  Json description = describe(plan, state.step, origin);
  if (dataset) add_data(description, *dataset, plan, state);
  add_times_and_disk(description, plan, state.step);
  const std::vector<SourceEpochs> sources =
      dataset ? source_epochs_at_end(*dataset, plan, state) : std::vector<SourceEpochs>();
  if (console.json()) {
    add_sources(description, sources);
    console.print("{}\n", description.dump());
  } else {
    print_table(description, console);
    for (const SourceEpochs& source : sources)
      console.print("{:<18} {}\n", source.name, describe(source, *dataset));
  }
  console.info(
      "predicted times assume {:.3g} FLOP/s per rank (--rank-flops), {:.3g} bytes/s within a node "
      "(--node-bandwidth), {:.3g} bytes/s between nodes (--link-bandwidth)",
      plan.forecast.rank_flops, plan::link_bandwidths(plan.forecast).within_node,
      plan::link_bandwidths(plan.forecast).between_nodes);
  if (!is_on_paper) warn_of_memory(planner, plan, resumed, console);
}

}  // namespace

int dry_run(const plan::Settings& settings, const comm::Ranks& ranks) {
  const plan::Launch launch = find_used_launch(settings, ranks);
  comm::on_root(ranks, [&] { check_and_describe(settings, launch, ranks.console); });
  return 0;
}

}  // namespace dt::train
