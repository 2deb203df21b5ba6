#pragma once
// Requests of a user for a run, by subject: groups of members of Settings, most of which a Plan carries on.
// Also enums that options name, and their names.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/text/enum_names.hpp"
#include "optim/learning_rate_schedule.hpp"

namespace dt::plan {

/// The values that the backward pass recomputes instead of keeping them.
enum class Recompute { none, selective, full };
constexpr auto enum_names(Recompute) {
  using enum Recompute;
  return std::to_array<EnumName<Recompute>>({{"none", none}, {"selective", selective}, {"full", full}});
}

/// The order of ranks. hosts: the ranks of a host follow each other; launcher: as the launcher numbers them.
enum class RankOrder { hosts, launcher };
constexpr auto enum_names(RankOrder) {
  return std::to_array<EnumName<RankOrder>>({{"hosts", RankOrder::hosts}, {"launcher", RankOrder::launcher}});
}

/// The steps from `first` to `last`, both included. The run's first step is 1.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool contains(std::int64_t step) const { return step >= first && step <= last; }
};
/// Parses "10" or "10-12".
/// Errors: usage, naming the option.
StepRange parse_step_range(const std::string& option, const std::string& text);

struct DataRequest {
  std::string mixture;                   // a dataset's folder, or several with weights; "": none
  std::optional<std::string> stage_dir;  // storage of each node's own
  std::optional<std::int64_t> stage_limit;
};

/// The origin of a start: the model, and the weights or the checkpoint that it continues from.
struct ResumeRequest {
  std::optional<std::string> run;
  std::string from = "auto";  // or "never", or a checkpoint
  std::optional<std::string> init_from;
  std::optional<std::string> model;
};

/// The end of a run. A run that trains has exactly one of these.
struct DurationRequest {
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> tokens;
  std::optional<double> epochs;
};

struct LearningRateRequest {
  double peak = 3e-4;
  std::optional<double> minimum;
  std::optional<std::int64_t> warmup_steps;
  optim::LearningRateScheduleKind kind = optim::LearningRateScheduleKind::cosine;
  std::optional<std::int64_t> decay_steps;
  optim::DecayShape decay_shape = optim::DecayShape::linear;
  std::int64_t final_steps = 0;
  std::optional<std::int64_t> reference_batch;
};

/// Settings of classes of parameters, as written (plan/parameter_settings.hpp).
struct ParameterClassRequest {
  std::vector<std::string> lr_scale;  // "CLASS=FACTOR"
  std::vector<std::string> no_decay;  // classes, or "none"
};

/// The base model of muP (plan/mup.hpp). Without a width, the standard parametrization applies.
struct MupRequest {
  std::optional<std::int64_t> base_width;
  std::optional<std::int64_t> base_head_dim;  // none: the model's own
};

struct SaveRequest {
  std::int64_t every = 0;  // steps; 0: only at the end
  bool in_background = true;
  std::optional<std::int64_t> writers_per_node;  // none: each rank writes
  std::optional<std::string> local_folder;       // storage of each node's own
  bool encrypts_copies = false;
  std::int64_t flush_every = 10;  // one of so many saves on nodes goes to the run
  std::optional<std::int64_t> keep_last;
  std::int64_t keep_every = 0;
};

struct EvaluationRequest {
  std::int64_t every = 0;               // steps; 0: only at the end
  std::optional<std::int64_t> batches;  // none: all
  std::optional<std::string> logits_file;
  std::int64_t logits_sequences = 64;
};

struct LoggingRequest {
  std::int64_t every = 1;
  std::optional<std::string> profile;  // steps, see parse_step_range()
  std::optional<double> peak_flops;    // the base of MFU, for one rank
};

/// The rates that forecasts assume. The ranks need not exist.
struct ForecastRequest {
  double rank_flops = 1e12;
  double link_bandwidth = 10e9;          // bytes/s between nodes
  std::optional<double> node_bandwidth;  // within a node; none: link_bandwidth
};

}  // namespace dt::plan
