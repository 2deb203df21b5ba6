#pragma once
// Settings that a user asks of dt-train, before anything is known of model, data or run directory.
// One member for each option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "base/numeric/dtype.hpp"
#include "base/text/enum_names.hpp"
#include "comm/communicator.hpp"
#include "comm/device_collectives/device_group.hpp"
#include "comm/topology/gpus.hpp"
#include "model/layout.hpp"
#include "optim/learning_rate_schedule.hpp"
#include "tensor/context.hpp"

namespace dt::plan {

/// The most ranks of a pipeline, and virtual stages on each. Models have fewer units.
constexpr std::int64_t max_stages = std::int64_t{1} << 16;
/// The most threads of a rank. No node has as many cores.
constexpr std::int64_t max_threads = 4096;

/// The values that the backward pass recomputes instead of keeping them.
enum class Recompute { none, selective, full };
constexpr auto enum_names(Recompute) {
  using enum Recompute;
  return std::to_array<EnumName<Recompute>>({{"none", none}, {"selective", selective}, {"full", full}});
}

/// The order of ranks: hosts, those of a host follow each other; launcher, as the launcher numbers them.
enum class Placement { hosts, launcher };
constexpr auto enum_names(Placement) {
  return std::to_array<EnumName<Placement>>({{"hosts", Placement::hosts}, {"launcher", Placement::launcher}});
}

/// The names of --precision and its like.
constexpr auto precision_names = std::to_array<EnumName<DType>>(
    {{"fp32", DType::f32}, {"bf16", DType::bf16}, {"fp16", DType::f16}, {"fp64", DType::f64}});

struct Settings {
  std::optional<std::string> model;
  std::string data;
  std::optional<std::string> stage_dir;
  std::optional<std::int64_t> stage_limit;
  std::optional<std::string> run;

  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> tokens;
  std::optional<double> epochs;

  std::optional<std::int64_t> sequence_length;
  bool mask_documents = false;
  std::int64_t global_batch = 8;
  std::int64_t micro_batch = 1;
  std::optional<std::int64_t> grad_lanes;
  std::int64_t seed = 0;

  double lr = 3e-4;
  std::optional<double> min_lr;
  std::optional<std::int64_t> warmup_steps;
  optim::LearningRateScheduleKind schedule = optim::LearningRateScheduleKind::cosine;
  std::optional<std::int64_t> decay_steps;
  std::optional<std::int64_t> lr_reference_batch;
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double adam_eps = 1e-8;
  double clip_norm = 1.0;

  DType precision = DType::f32;
  DType grad_dtype = DType::f32;
  DType reduce_dtype = DType::f32;
  comm::ReduceOrder reduce_order = comm::ReduceOrder::tree;
  std::optional<Arithmetic> matmul;  // none: the fastest
  comm::DeviceRequest device = comm::DeviceRequest::automatic;
  std::optional<double> loss_scale;
  Recompute recompute = Recompute::none;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  /// Returns how many ranks hold one model, once.
  std::int64_t ranks_per_model() const { return pp * tp * cp; }
  bool sequence_parallel = false;
  std::int64_t tp_overlap_chunks = 0;  // 0: by size
  Placement placement = Placement::hosts;
  std::int64_t pp = 1;
  model::PipelineScheduleKind pp_schedule = model::PipelineScheduleKind::one_f_one_b;
  std::int64_t virtual_stages = 1;
  std::vector<std::string> stage_units;  // empty: by cost
  std::int64_t zero = 0;
  std::string zero_group = "all";
  bool overlap = true;
  std::int64_t comm_bucket_bytes = comm::Communicator::default_bucket_bytes;
  std::optional<std::string> comm;
  Duration comm_timeout{600};
  std::optional<std::int64_t> threads;
  std::optional<double> peak_flops;

  std::int64_t save_every = 0;
  bool background_save = true;
  std::optional<std::int64_t> checkpoint_writers_per_node;
  std::optional<std::string> checkpoint_local;
  bool encrypt_copies = false;
  std::int64_t flush_every = 10;
  std::optional<std::int64_t> keep_last;
  std::int64_t keep_every = 0;
  std::string resume = "auto";
  std::optional<std::string> init_from;

  std::int64_t eval_every = 0;
  std::optional<std::int64_t> eval_batches;
  std::int64_t log_every = 1;
  std::optional<std::string> profile;
  bool eval_only = false;
  std::optional<std::string> logits_out;
  std::int64_t logits_sequences = 64;
  bool dry_run = false;
  bool show_schedule = false;
  std::optional<std::string> svg;
  std::optional<std::string> roofline;
  double rank_flops = 1e12;
  double link_bandwidth = 10e9;
  std::optional<double> node_bandwidth;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_node;
  std::optional<std::string> compare_layouts;
};

/// A range of steps, both ends included, counted from the run's beginning.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool contains(std::int64_t step) const { return step >= first && step <= last; }
};

/// Parses "10" or "10-12". `option` is the name of the option.
/// Errors: usage, naming the option: any other text.
StepRange parse_step_range(const std::string& option, const std::string& text);

}  // namespace dt::plan
