#pragma once
// A run's reports: metrics.jsonl, and a table (or the same lines, with --json) on stdout.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/console.hpp"
#include "base/io/files.hpp"
#include "checkpoint/reader.hpp"
#include "optim/qk_clip.hpp"
#include "train/report/source_epochs.hpp"

namespace dt::train {

/// The loss on one dataset of a mixture.
struct SourceLoss {
  std::string name;
  double loss = 0;
  std::uint64_t tokens = 0;
  std::optional<double> ema_loss{};  // loss of the averaged weights
};

struct TrainRecord {
  std::int64_t step = 0;
  double loss = 0;
  std::vector<std::pair<std::string, double>> auxiliary{};  // name and value of each auxiliary loss
  std::optional<optim::AttentionScores> attention{};        // with QK-clip
  double lr = 0;
  double grad_norm = 0;
  std::uint64_t tokens = 0;  // since the start of the run
  std::int64_t targets = 0;  // tokens of the step whose prediction is part of the loss
  double step_s = 0;
  double tokens_per_s = 0;
  double mfu = 0;
  std::string mfu_base = "measured";  // base of mfu: "peak" of the devices, or a "measured" rate
  double compute_s = 0;
  double exposed_comm_s = 0;
  double data_wait_s = 0;
  std::uint64_t data_digest = 0;
  std::optional<double> loss_scale{};   // for the next step, in fp16
  std::vector<SourceEpochs> sources{};  // for a mixture, since the start of the run
  double mean_loss = 0;                 // over the steps since the last such line
};

struct EvalRecord {
  std::int64_t step = 0;
  double val_loss = 0;
  std::uint64_t val_tokens = 0;
  std::optional<double> ema_val_loss{};  // loss of the averaged weights
  std::vector<SourceLoss> sources{};     // for a mixture
  std::string checkpoint{};              // checkpoint that --eval-only evaluates
};

struct CheckpointRecord {
  std::int64_t step = 0;
  std::string path;
  std::uint64_t bytes = 0;
  double stall_s = 0;
  double write_s = 0;
  int num_nodes = 0;         // nodes that hold a shard of a local checkpoint; else 0
  int num_without_copy = 0;  // ranks whose shard of it has no copy on another node
};

/// A start, a resume or a stop.
struct EventRecord {
  std::string kind;
  std::string reason;
  std::int64_t step = 0;
  std::string checkpoint;                      // checkpoint that a resume continues from
  std::vector<checkpoint::Problem> skipped{};  // newer checkpoints that it could not load, and why
};

/// Writes a run's reports.
/// Errors: environment, from every method.
class Reporter {
 public:
  /// Appends to `metrics`, after removing a last line that a crash left incomplete. Without a path,
  /// only writes to stdout. Lines carry the generation, unless it is 0, which means outside a run.
  Reporter(Console& console, const std::optional<fs::path>& metrics, std::int64_t generation = 0);
  void train(const TrainRecord& record);
  void eval(const EvalRecord& record);
  /// Reports a checkpoint. The line is durable before the report, so that no power failure removes
  /// the line of an announced checkpoint. Local checkpoints have a kind of line of their own, since
  /// their path names no checkpoint.
  void checkpoint(const CheckpointRecord& record);
  void event(const EventRecord& record);
  /// Closes the file after the last line. Some file systems report a full disk only now.
  void close();

 private:
  void write_line(nlohmann::ordered_json json);
  /// Writes a row of the table; nothing with --json.
  void write_row(const std::string& text);
  Console& console_;
  File metrics_;
  std::int64_t generation_;
  bool has_heading_ = false;
};

}  // namespace dt::train
