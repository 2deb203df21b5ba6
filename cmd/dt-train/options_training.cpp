// The options of model, data, duration and batch.

#include <fmt/ranges.h>

#include "cmd/dt-train/option_groups.hpp"
#include "model/model_spec.hpp"

namespace dt::train_tool {

using plan::Settings;

namespace {

// Limits beyond any run. max_batch · max_length is below 2⁶³.
constexpr std::int64_t max_batch = std::int64_t{1} << 24;
constexpr std::int64_t max_length = std::int64_t{1} << 30;

}  // namespace

void add_model_and_data(OptionTable& t, Settings& s) {
  t.group("Model and data")
      .add("model", &s.resume.model, "PRESET|FILE",
           "preset or Hugging Face config.json; default: the model of the checkpoint or --init-from")
      .details(fmt::format("The presets are {}.", fmt::join(model::preset_names(), ", ")))
      .add("data", &s.data.mixture, "DIR|MIX",
           "dataset of dt-shard-data, or a weighted mixture such as web=0.7,code=0.3 (required)")
      .details("Write a single folder named x=1 as x=1/. --dry-run and --show-schedule work without data.")
      .add("stage-dir", &s.data.stage_dir, "DIR", "copy the data to this node-local folder before training")
      .details(
          "One rank of each node copies the data, and then all its ranks read the copy. Data that cannot be "
          "copied is read in place.")
      .conflicts_with({"show-schedule"})
      .add("stage-limit", &s.data.stage_limit, "SIZE",
           "maximum size of all copies in --stage-dir; default: the free space", 0)
      .details("The least recently used copies are removed to make room.")
      .conflicts_with({"show-schedule"})
      .require("--stage-dir", [&s] { return s.data.stage_dir.has_value(); })
      .add("run", &s.resume.run, "DIR",
           "run directory, for checkpoints, metrics and records (required to train)")
      .conflicts_with({"compare-layouts"})
      .add("init-from", &s.resume.init_from, "PATH",
           "start from the weights of a checkpoint or a Hugging Face folder")
      .details("Only the weights are loaded, not the optimizer state and the position in the data.")
      .add("seed", &s.seed, "N", "random seed for weights and data order")
      .conflicts_with(evaluation);
}

void add_duration(OptionTable& t, Settings& s) {
  t.group("Duration (exactly one is required)")
      .add("steps", &s.duration.steps, "N", "optimizer steps, counted from the start of the run", 1,
           max_steps)
      .conflicts_with(evaluation)
      .add("tokens", &s.duration.tokens, "N", "training tokens, rounded up to whole steps", 1)
      .conflicts_with(evaluation)
      .add("epochs", &s.duration.epochs, "X", "passes over the training split, rounded up to whole steps",
           1e-12, 1e6)
      .conflicts_with(evaluation);
}

void add_batch(OptionTable& t, Settings& s) {
  t.group("Batch")
      .add("sequence-length", &s.sequence_length, "N", "tokens per sequence; default: the model's maximum", 1,
           max_length)
      .add("mask-documents", &s.mask_documents, "restrict attention to a token's own document")
      .details(
          "Without it a token attends to all tokens before it in the sequence, also those of other "
          "documents.")
      .add("global-batch", &s.global_batch, "N", "sequences per optimizer step", 1, max_batch)
      .add("micro-batch", &s.micro_batch, "N", "sequences per forward pass", 1, max_batch)
      .add("grad-lanes", &s.grad_lanes, "N",
           "gradient lanes, which fix the order of gradient sums; default: data-parallel ranks, kept on "
           "resume",
           1)
      .details(
          "Gradients are added within each lane, then over the lanes in a fixed tree. All numbers of "
          "data-parallel ranks that are powers of two and divide N give bit-identical weights, except under "
          "ZeRO 2 and 3 with several micro-batches per rank. The default is ranks ÷ (pp × tp × cp).")
      .conflicts_with(evaluation)
      .add("threads", &s.threads, "N", "threads per rank; default: the host's available cores ÷ its ranks", 1,
           plan::max_threads);
}

}  // namespace dt::train_tool
