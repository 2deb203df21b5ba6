// What is trained: model and data, duration, batch.

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
  t.group("What to train")
      .add("model", &s.resume.model, "PRESET|FILE",
           fmt::format("a Hugging Face config.json, or one of: {}; taken from the checkpoint or --init-from "
                       "where left out",
                       fmt::join(model::preset_names(), ", ")))
      .add("data", &s.data.mixture, "DIR|MIX",
           "a folder that dt-shard-data wrote, or several with weights, such as web=0.7,code=0.3 (a folder "
           "x=1 "
           "alone: x=1/) (required, but for plans)")
      .add("stage-dir", &s.data.stage_dir, "DIR",
           "storage of each node's own: one rank of each node copies the data there, then all read the copy; "
           "data that cannot be copied are read where they are")
      .conflicts_with({"show-schedule"})
      .add("stage-limit", &s.data.stage_limit, "SIZE",
           "bytes of all that is copied there; the least recently used goes; default: what is free", 0)
      .conflicts_with({"show-schedule"})
      .require("--stage-dir", [&s] { return s.data.stage_dir.has_value(); })
      .add("run", &s.resume.run, "DIR",
           "the run directory: checkpoints, metrics, generations (required to train)")
      .conflicts_with({"compare-layouts"})
      .add("init-from", &s.resume.init_from, "PATH",
           "weights only, from a checkpoint or a Hugging Face folder")
      .add("seed", &s.seed, "N", "of weights and data order")
      .conflicts_with(evaluation);
}

void add_duration(OptionTable& t, Settings& s) {
  t.group("How long (one of these is required)")
      .add("steps", &s.duration.steps, "N", "optimizer steps, counted from the run's beginning", 1, max_steps)
      .conflicts_with(evaluation)
      .add("tokens", &s.duration.tokens, "N", "training tokens, rounded up to whole steps", 1)
      .conflicts_with(evaluation)
      .add("epochs", &s.duration.epochs, "X", "passes over the training split, rounded up to whole steps",
           1e-12, 1e6)
      .conflicts_with(evaluation);
}

void add_batch(OptionTable& t, Settings& s) {
  t.group("Batch")
      .add("sequence-length", &s.sequence_length, "N", "tokens per sample; default: the model's maximum", 1,
           max_length)
      .add("mask-documents", &s.mask_documents,
           "tokens see their own document alone, not those before it in a sample")
      .add("global-batch", &s.global_batch, "N", "sequences a step", 1, max_batch)
      .add("micro-batch", &s.micro_batch, "N", "sequences per forward pass", 1, max_batch)
      .add("grad-lanes", &s.grad_lanes, "N",
           "parts of a step's gradient sum; default: data-parallel ranks (all ÷ P ÷ T ÷ C), kept on resume",
           1)
      .conflicts_with(evaluation)
      .add("threads", &s.threads, "N",
           "a rank; default: this host's cores that ranks may use, shared among them", 1, plan::max_threads);
}

}  // namespace dt::train_tool
