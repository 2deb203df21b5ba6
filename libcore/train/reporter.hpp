#pragma once
// A run's account of itself: metrics.jsonl, and the table (or the same lines, with --json) on stdout.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/console.hpp"
#include "base/files.hpp"
#include "checkpoint/reader.hpp"
#include "run/run_directory.hpp"
#include "train/sources.hpp"

namespace dt::train {

/// Of a dataset of a mixture.
struct SourceLoss {
  std::string name;
  double loss = 0;
  std::uint64_t tokens = 0;
};

struct TrainRecord {
  std::int64_t step = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  std::uint64_t tokens = 0;  // seen since the run's beginning
  std::int64_t targets = 0;  // of the step: those of its tokens whose prediction makes the loss
  double step_s = 0;
  double tokens_per_s = 0;
  double mfu = 0;
  std::string mfu_base = "measured";  // what mfu refers to: "peak" of the devices, or what was "measured"
  double compute_s = 0;
  double exposed_comm_s = 0;
  double data_wait_s = 0;
  std::uint64_t data_digest = 0;
  std::optional<double> loss_scale{};  // of the next step, in fp16
  std::vector<SourceShare> sources{};  // of a mixture, since the run's beginning
  double mean_loss = 0;                // over the steps since the last such line
};

struct EvalRecord {
  std::int64_t step = 0;
  double val_loss = 0;
  std::uint64_t val_tokens = 0;
  std::vector<SourceLoss> sources{};  // of a mixture
  std::string checkpoint{};           // that --eval-only evaluates
};

struct CheckpointRecord {
  std::int64_t step = 0;
  std::string path;
  std::uint64_t bytes = 0;
  double stall_s = 0;
  double write_s = 0;
  int num_nodes = 0;         // of a local checkpoint: that hold a share of it; else 0
  int num_without_copy = 0;  // ranks whose part of it has no copy on another node
};

/// A start, a resume or a stop.
struct EventRecord {
  std::string kind;
  std::string reason;
  std::int64_t step = 0;
  std::string checkpoint;                          // that a resume goes on from
  std::vector<checkpoint::Problem> passed_over{};  // newer ones that it could not load, and why
};

/// Errors of all methods: environment.
class Reporter {
 public:
  /// Appends to `metrics`; a line that a crash left torn is cut off first. Without a path only stdout is
  /// told. Lines carry the generation, unless it is 0: outside a run.
  Reporter(Console& console, const std::optional<fs::path>& metrics, std::int64_t generation = 0);
  void train(const TrainRecord& record);
  void eval(const EvalRecord& record);
  /// On disk before it is told: no power failure takes the line from a checkpoint that was announced. Local
  /// ones are lines of a kind of their own: what a path of theirs names is no checkpoint.
  void checkpoint(const CheckpointRecord& record);
  void event(const EventRecord& record);
  /// After the last line. Some file systems say only now that the disk is full.
  void close();

 private:
  void line(std::string json);
  /// For people; nothing with --json.
  void row(const std::string& text);
  Console& console_;
  File metrics_;
  std::int64_t generation_;
  bool has_heading_ = false;
};

/// Returns whether metrics.jsonl holds an evaluation of this step on the newest generation's lineage.
bool has_evaluation(const fs::path& metrics, std::int64_t step);

/// Local checkpoints that metrics.jsonl announces, as their paths name them, in the order of its lines.
std::vector<checkpoint::CheckpointEntry> announced_local_checkpoints(const fs::path& metrics);

}  // namespace dt::train
