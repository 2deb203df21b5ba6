#include "plan/planner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "base/system/host.hpp"
#include "data/read/loader.hpp"
#include "data/read/sampler.hpp"
#include "model/units/unit.hpp"
#include "optim/adafactor.hpp"
#include "plan/choose_layout.hpp"
#include "plan/memory/memory_fit.hpp"
#include "plan/precision.hpp"

namespace dt::plan {

namespace {

constexpr std::int64_t max_micro_batches = std::int64_t{1} << 24;

/// Returns the number of chunks of rows that tensor-parallel ranks exchange: as many as keep a size
/// that a network carries well. Between ranks of a node it is 1, as a chunk's transfer takes less
/// time there than smaller products lose.
int chunks_of(const Settings& s, const Plan& plan) {
  constexpr std::int64_t least_bytes = std::int64_t{1} << 20, most = 4;
  if (s.tp_overlap_chunks > 0) return static_cast<int>(s.tp_overlap_chunks);
  if (plan.has_tensor_within_nodes()) return 1;
  const std::int64_t bytes = plan.micro_batch * plan.local_length() * plan.spec.hidden *
                             static_cast<std::int64_t>(dtype_bytes(plan.precision.compute));
  return static_cast<int>(std::clamp<std::int64_t>(bytes / least_bytes, 1, most));
}

/// Sets the layout, and how its ranks exchange.
void set_layout(Plan& plan, const Settings& s, const model::Layout& layout) {
  plan.layout = layout;
  plan.place = layout.coordinates_of(plan.launch.rank);
  plan.overlap = s.overlap;
  plan.tp_chunks = chunks_of(s, plan);
}

/// Makes the part of a plan that training and evaluation share.
Plan common_plan(const Settings& s, const model::ModelSpec& spec, const data::Mixture* dataset,
                 const Launch& launch) {
  if (dataset && dataset->vocabulary_size() > spec.vocabulary) {
    throw Error(ErrorKind::input,
                fmt::format("the vocabulary of the data in {} has {} tokens, but the model's has {}",
                            dataset->name(), dataset->vocabulary_size(), spec.vocabulary),
                "use a model with a larger vocabulary, or make the data with another tokenizer");
  }
  Plan plan;
  plan.spec = spec;
  plan.precision = precision_of(s);
  plan.matmul = s.matmul;
  plan.forecast = s.forecast;
  plan.recompute = s.recompute;
  plan.launch = launch;
  plan.device = launch.device;
  plan.reduce_order = s.reduce_order;
  plan.comm_timeout_s = s.comm_timeout.seconds;
  plan.threads = static_cast<int>(s.threads.value_or(launch.cores));
  plan.has_default_threads = !s.threads;
  plan.resume = s.resume;
  plan.evaluation = s.evaluation;
  plan.seed = static_cast<std::uint64_t>(s.seed);
  plan.sequence_length = s.sequence_length.value_or(spec.max_positions);
  plan.mask_documents = s.mask_documents;
  plan.global_batch = s.global_batch;
  plan.micro_batch = s.micro_batch;
  if (plan.sequence_length > spec.max_positions) {
    throw Error(ErrorKind::input,
                fmt::format("--sequence-length {} exceeds the model's {} positions", plan.sequence_length,
                            spec.max_positions),
                fmt::format("use at most --sequence-length {}", spec.max_positions));
  }
  return plan;
}

/// Returns the windows in an epoch of the only dataset. A mixture's datasets have epochs of their
/// own, and the run has none.
/// Errors: those of data::samplers_of; usage.
std::uint64_t windows_of_an_epoch(const Settings& s, const Plan& plan, const data::Mixture* mixture) {
  if (!mixture && s.duration.epochs)
    throw Error(
        ErrorKind::usage,
        fmt::format("--epochs {} needs --data, which determines the length of an epoch", *s.duration.epochs),
        "give --data, or use --steps or --tokens");
  if (!mixture) return 0;
  const std::vector<data::Sampler> samplers = data::samplers_of(*mixture, plan.seed, plan.sequence_length);
  if (s.duration.epochs && mixture->size() > 1)
    throw Error(ErrorKind::usage,
                fmt::format("--epochs {} cannot be combined with a mixture: each dataset has its own epochs",
                            *s.duration.epochs),
                "use --steps or --tokens; --dry-run shows the resulting epochs of each dataset");
  return samplers.front().num_windows();
}

/// Returns the step at which --steps, --tokens or --epochs ends the run.
std::int64_t last_step(const Settings& s, const Plan& plan, std::uint64_t windows,
                       const checkpoint::TrainingState* resumed) {
  if (s.duration.steps) return *s.duration.steps;
  const double samples =
      s.duration.tokens
          ? std::ceil(static_cast<double>(*s.duration.tokens) / static_cast<double>(plan.sequence_length))
          : std::ceil(*s.duration.epochs * static_cast<double>(windows));
  const auto target = static_cast<std::uint64_t>(samples);
  const std::uint64_t consumed = resumed ? resumed->samples_consumed : 0;
  const std::int64_t done = resumed ? resumed->step : 0;
  if (target <= consumed) return done;
  const auto global_batch = static_cast<std::uint64_t>(plan.global_batch);
  return done + static_cast<std::int64_t>(ceil_div(target - consumed, global_batch));
}

/// Checks that an int can count micro-batches, and 64 bits can count tokens.
void check_countable(const Plan& plan) {
  std::int64_t tokens = 0;
  const bool overflows = __builtin_mul_overflow(plan.tokens_per_step(), plan.total_steps, &tokens);
  if (overflows || plan.micro_batches_per_step > max_micro_batches) {
    throw usage_error(
        "the run has more tokens than dt can count: --global-batch {}, --micro-batch {}, {} steps of {} "
        "tokens",
        plan.global_batch, plan.micro_batch, plan.total_steps, plan.tokens_per_step());
  }
}

/// Errors: usage, the run ends before these steps.
StepRange profiled_steps(const std::string& text, std::int64_t total_steps) {
  const StepRange steps = parse_step_range("--profile", text);
  if (steps.last <= total_steps) return steps;
  throw Error(ErrorKind::usage, fmt::format("--profile {}: the run ends with step {}", text, total_steps),
              fmt::format("name steps from 1 to {}", total_steps));
}

/// Checks that eps does not vanish in the update's type: an update with moments of zero would be 0/0.
void check_adam_eps(double eps, DType type) {
  const bool is_double = type == DType::f64;
  const double least =
      is_double ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
  const double most =
      is_double ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
  if (eps >= least && eps <= most) return;
  throw Error(ErrorKind::usage,
              fmt::format("--adam-eps {} is outside the normal range of {}, in which weights are updated",
                          eps, precision_name(type)),
              fmt::format("use at least {:.3g}; 1e-8 is usual", least));
}

/// Checks that the device can find attention scores, and that the scale of weights changes them.
void check_qk_clip(const Settings& s, const Plan& plan) {
  if (s.qk_clip == 0) return;
  if (plan.spec.qk_norm != model::QkNorm::none)
    throw Error(
        ErrorKind::usage,
        fmt::format("--qk-clip {}: the model normalizes queries and keys, so the scale of their weights "
                    "does not change attention scores",
                    s.qk_clip),
        "leave out --qk-clip: the norms bound the scores");
  if (plan.device != Device::host())
    throw Error(
        ErrorKind::usage,
        fmt::format("--qk-clip {} needs the largest attention scores, which no kernel for GPUs returns",
                    s.qk_clip),
        "use --device cpu, or --qk-clip 0");
}

/// Returns the factor of learning rates.
double learning_rate_scale(const Settings& s, const Plan& plan) {
  if (!s.learning_rate.reference_batch) return 1;
  return static_cast<double>(plan.global_batch) / static_cast<double>(*s.learning_rate.reference_batch);
}

optim::LearningRateSchedule make_schedule(const Settings& s, const Plan& plan) {
  const double scale = learning_rate_scale(s, plan);
  optim::LearningRateSchedule schedule;
  schedule.kind = s.learning_rate.kind;
  schedule.lr = s.learning_rate.peak * scale;
  schedule.min_lr = s.learning_rate.minimum.value_or(s.learning_rate.peak / 10) * scale;
  schedule.total_steps = plan.total_steps;
  schedule.warmup_steps = s.learning_rate.warmup_steps.value_or(plan.total_steps / 100);
  schedule.decay_steps = s.learning_rate.decay_steps.value_or(plan.total_steps / 5);
  schedule.decay_shape = s.learning_rate.decay_shape;
  schedule.final_steps = s.learning_rate.final_steps;
  if (schedule.min_lr > schedule.lr) {
    throw usage_error("--min-lr {} is above --lr {}", *s.learning_rate.minimum, s.learning_rate.peak);
  }
  if (optim::falls_last(schedule.kind) && schedule.warmup_steps + schedule.decay_steps > plan.total_steps) {
    throw Error(ErrorKind::usage,
                fmt::format("--warmup-steps {} and --decay-steps {} together exceed the run's {} steps",
                            schedule.warmup_steps, schedule.decay_steps, plan.total_steps),
                "lower one of them, or train longer");
  }
  if (optim::takes_decay_shape(schedule.kind) && schedule.decay_shape == optim::DecayShape::exponential &&
      schedule.min_lr <= 0) {
    throw usage_error("--decay-shape exponential needs a --min-lr above 0");
  }
  if (optim::falls_first(schedule.kind) && schedule.warmup_steps + schedule.final_steps > plan.total_steps) {
    throw usage_error("--warmup-steps {} and --final-steps {} together exceed the run's {} steps",
                      schedule.warmup_steps, schedule.final_steps, plan.total_steps);
  }
  return schedule;
}

Plan make_plan(const Settings& s, const model::ModelSpec& spec, const data::Mixture* dataset,
               const Launch& launch, const checkpoint::TrainingState* resumed) {
  Plan plan = common_plan(s, spec, dataset, launch);
  if (plan.global_batch % plan.micro_batch != 0) {
    throw Error(ErrorKind::usage,
                fmt::format("--global-batch {} is not a multiple of --micro-batch {}", plan.global_batch,
                            plan.micro_batch),
                fmt::format("use --global-batch {}, or a --micro-batch that divides {}",
                            round_up(plan.global_batch, plan.micro_batch), plan.global_batch));
  }
  plan.micro_batches_per_step = plan.global_batch / plan.micro_batch;
  set_layout(plan, s, choose_layout(s, spec, plan.sequence_length, launch));
  plan.comm_bucket_bytes = static_cast<std::size_t>(s.comm_bucket_bytes);
  plan.grad_lanes = s.grad_lanes.value_or(resumed ? resumed->grad_lanes : plan.layout.dp);
  plan.total_steps = last_step(s, plan, windows_of_an_epoch(s, plan, dataset), resumed);
  plan.duration = s.duration;
  plan.learning_rate = s.learning_rate;
  plan.logging = s.logging;
  if (s.logging.profile) plan.profiled_steps = profiled_steps(*s.logging.profile, plan.total_steps);
  plan.save = s.save;
  plan.save.in_background = s.save.in_background && s.save.every > 0 && s.save.every < plan.total_steps;
  check_countable(plan);
  if (dataset && s.evaluation.every > 0 &&
      data::num_validation_windows(*dataset, plan.sequence_length) == 0) {
    throw Error(ErrorKind::input,
                fmt::format("--eval-every {}: {} has no validation window of {} tokens", s.evaluation.every,
                            dataset->name(), plan.sequence_length + 1),
                "make the dataset with a larger --val-fraction");
  }
  plan.schedule = make_schedule(s, plan);
  plan.optimizer = optim::resolve(s.optimizer);
  plan.optimizer.adam_lr *= learning_rate_scale(s, plan);
  if (plan.optimizer.adam_lr > 0 && plan.schedule.lr == 0)
    throw usage_error("--adam-lr follows the schedule of --lr, which must be above 0");
  if (plan.optimizer.moments == optim::MomentType::bf16 && plan.precision.master() != DType::f32)
    throw Error(ErrorKind::usage, "--moments bf16 cannot be combined with --precision fp64",
                "use --moments master, or another --precision");
  if (optim::factors_moments(plan.optimizer) && plan.device != Device::host())
    throw Error(ErrorKind::usage,
                fmt::format("--optimizer {} has no kernels for GPUs", name_of(plan.optimizer.kind)),
                "use --device cpu, or another --optimizer");
  plan.parameter_settings = parse_parameter_settings(s.parameter_classes, model::ParameterTable(plan.spec));
  plan.parameter_settings.mup = Mup(s.mup, plan.spec, plan.optimizer.kind);
  check_adam_eps(plan.optimizer.eps, plan.precision.master());
  if (s.ema >= 1) throw usage_error("--ema {} must be below 1", s.ema);
  plan.ema = s.ema;
  plan.clip_norm = s.clip_norm;
  plan.z_loss = s.z_loss;
  check_qk_clip(s, plan);
  plan.qk_clip = s.qk_clip;
  if (has_narrow_range(plan.precision.compute)) plan.loss_scale = {.fixed = s.loss_scale};
  return plan;
}

Plan make_evaluation_plan(const Settings& s, const model::ModelSpec& spec, const data::Mixture& dataset,
                          const Launch& launch) {
  Plan plan = common_plan(s, spec, &dataset, launch);
  Settings whole = s;
  whole.zero = 0;  // evaluation has weights alone, and each stage has them whole
  set_layout(plan, s, choose_layout(whole, spec, plan.sequence_length, launch));
  return plan;
}

}  // namespace

Plan Planner::plan_with(const Settings& settings, const checkpoint::TrainingState* resumed) const {
  return purpose_ == Purpose::training ? make_plan(settings, spec_, dataset_, launch_, resumed)
                                       : make_evaluation_plan(settings, spec_, *dataset_, launch_);
}

Plan Planner::plan(const checkpoint::TrainingState* resumed) const {
  return plan_with(settings_, resumed);
}

Plan Planner::fitting_plan(const checkpoint::TrainingState* resumed) const {
  const Replan replan = [&](const Settings& settings) { return plan_with(settings, resumed); };
  Plan plan = replan(settings_);
  check_memory(settings_, plan, replan, usable_memory_bytes());
  return plan;
}

std::string Planner::suggest_options_that_fit(const Plan& plan, const checkpoint::TrainingState* resumed,
                                              const NeededBytes& needed_bytes, std::uint64_t bytes) const {
  const Replan replan = [&](const Settings& settings) { return plan_with(settings, resumed); };
  return plan::suggest_options_that_fit(settings_, plan, replan, needed_bytes, bytes);
}

}  // namespace dt::plan
