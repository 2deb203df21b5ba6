#pragma once
// Settings that a user asks of dt-train, before anything is known of model, data or run directory.
// One member for each option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/options.hpp"
#include "comm/communicator.hpp"
#include "comm/device_collectives/device_group.hpp"
#include "comm/topology/gpus.hpp"
#include "model/layout.hpp"
#include "optim/optimizer.hpp"
#include "plan/requests.hpp"
#include "tensor/context.hpp"

namespace dt::plan {

/// The most ranks of a pipeline, and virtual stages on each. Models have fewer units.
constexpr std::int64_t max_stages = std::int64_t{1} << 16;
/// The most threads of a rank. No node has as many cores.
constexpr std::int64_t max_threads = 4096;

struct Settings {
  DataRequest data;
  ResumeRequest resume;
  DurationRequest duration;

  std::optional<std::int64_t> sequence_length;
  bool mask_documents = false;
  std::int64_t global_batch = 8;
  std::int64_t micro_batch = 1;
  std::optional<std::int64_t> grad_lanes;
  std::int64_t seed = 0;

  LearningRateRequest learning_rate;
  optim::OptimizerRequest optimizer;
  ParameterClassRequest parameter_classes;
  MupRequest mup;
  double clip_norm = 1.0;
  double ema = 0;
  double z_loss = 0;
  double qk_clip = 0;

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
  std::int64_t ep = 1;  // only the text of a layout has it
  /// Returns how many ranks hold one model, once.
  std::int64_t ranks_per_model() const { return pp * tp * cp; }
  bool sequence_parallel = false;
  std::int64_t tp_overlap_chunks = 0;  // 0: by size
  RankOrder placement = RankOrder::hosts;
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

  SaveRequest save;
  EvaluationRequest evaluation;
  LoggingRequest logging;
  bool eval_only = false;
  bool dry_run = false;
  bool show_schedule = false;
  std::optional<std::string> svg;
  std::optional<std::string> roofline;
  ForecastRequest forecast;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> ranks_per_node;
  std::optional<std::string> compare_layouts;
};

}  // namespace dt::plan
