#include "cmd/dt-train/options.hpp"

#include <algorithm>
#include <fmt/ranges.h>

#include "model/model_spec.hpp"
#include "plan/settings.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

namespace {

using plan::Settings;

// Limits beyond any run. max_batch · max_length is below 2⁶³, and max_steps · max_batch below 2⁶⁴.
constexpr std::int64_t max_steps = 1'000'000'000'000;
constexpr std::int64_t max_batch = std::int64_t{1} << 24;
constexpr std::int64_t max_length = std::int64_t{1} << 30;
using plan::max_stages, plan::max_threads;

// Options that select something other than training, or a run that is not kept, and make other
// options useless.
constexpr std::initializer_list<const char*> evaluation = {"eval-only"};
constexpr std::initializer_list<const char*> proofs = {"compare-layouts", "show-schedule"};
constexpr std::initializer_list<const char*> all_but_kept_runs = {"eval-only", "compare-layouts",
                                                                  "show-schedule"};

/// The types of --precision in which gradients are summed and travel.
constexpr auto reduction_precisions = subset<DType::f32, DType::bf16>(precision_names);
/// The formats of products that a user may ask for.
constexpr auto products =
    subset<Arithmetic::fp32, Arithmetic::bf16, Arithmetic::amx, Arithmetic::tf32>(enum_names(Arithmetic{}));

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
           "a rank; default: this host's cores that ranks may use, shared among them", 1, max_threads);
}

void add_arithmetic(OptionTable& t, Settings& s) {
  t.group("Arithmetic")
      .choice("device", &s.device,
              "where ranks compute: cpu; cuda (NVIDIA GPUs, of sm_80 or newer, each rank on one); auto: cuda "
              "where every rank has a GPU")
      .choice("precision", &s.precision, precision_names,
              "of weights and activations; 16 bits keep fp32 masters; fp64 is slow: reference kernels, for "
              "proofs")
      .choice("grad-dtype", &s.grad_dtype, reduction_precisions,
              "that gradients are summed in; with bf16 bits depend on the number of ranks")
      .conflicts_with(evaluation)
      .choice("reduce-dtype", &s.reduce_dtype, reduction_precisions,
              "that gradients travel in between ranks; with bf16 bits depend on the number of ranks")
      .choice("reduce-order", &s.reduce_order,
              "in which GPUs that talk through NCCL sum: tree: dt's, of the same bits in any layout that has "
              "them, and by messages; free: NCCL's own, as NCCL_ALGO and NCCL_PROTO say")
      .choice(
          "matmul", &s.matmul, products, "auto",
          "what matrices are multiplied in: on CPUs, of bf16: fp32; bf16 (AVX512_BF16); amx (AMX's tiles of "
          "bf16); auto: the fastest here, kept on resume; on GPUs, of fp32: fp32, or auto; tf32 (10 bits of "
          "mantissa, on tensor cores)")
      .add("loss-scale", &s.loss_scale, "X",
           "of fp16, for the whole run; default: from 65536 on, halved where gradients overflow, doubled "
           "after 1000 steps that did not",
           1e-6, 1e9)
      .conflicts_with(evaluation)
      .choice("recompute", &s.recompute,
              "computed again in the backward to save memory: nothing; norms and activations; whole blocks")
      .conflicts_with(evaluation);
}

void add_ranks(OptionTable& t, Settings& s) {
  t.group("Ranks")
      .add("tp", &s.tp, "T",
           "ranks that share each layer: some of its heads, features and rows of the vocabulary each; they "
           "talk twice a layer each way, so keep them within a node",
           1, max_stages)
      .add("sequence-parallel", &s.sequence_parallel,
           "of what is not cut among them, norms and residuals, each has some rows alone: less memory, a "
           "quarter more bytes to move")
      .require("--tp 2 or more", [&s] { return s.tp > 1 || s.compare_layouts; })
      .add("cp", &s.cp, "C",
           "ranks that divide each sequence, for long ones: each has a part of it, keys and values go round",
           1, max_stages)
      .add("tp-overlap-chunks", &s.tp_overlap_chunks, "N",
           "chunks of rows in which they exchange, each while another is multiplied; 0: one within a node, "
           "else by size; no bit depends on it",
           0, 1024)
      .require("--tp 2 or more", [&s] { return s.tp > 1 || s.compare_layouts; })
      .choice("placement", &s.placement,
              "which ranks are neighbours, who share layers first: those of a host, whatever the launcher's "
              "numbers; or as it numbers them")
      .add("pp", &s.pp, "P",
           "ranks of a pipeline, each with a stage of the model's units (embedding, blocks, head); those of "
           "the others that make up whole pipelines share the batch, the rest sits out",
           1, max_stages)
      .choice(
          "pp-schedule", &s.pp_schedule,
          "in which order a stage computes, on which no bit depends; interleaved takes --virtual-stages of "
          "2 or more, zero-bubble 1 or 2")
      .add("virtual-stages", &s.virtual_stages, "V", "stages on each rank of a pipeline", 1, max_stages)
      .add("stage-units", &s.stage_units, "LIST",
           "how many units each stage has, in the order of the model, P × V of them, such as 5,7,7,5; "
           "default: so that the slowest stage is as fast as can be, by FLOPs")
      .add("zero", &s.zero, "STAGE",
           "what data-parallel ranks divide among them instead of each holding it (ZeRO): 0 nothing; 1 the "
           "optimizer's state; 2 gradients too; 3 weights too; with several micro-batches a rank, bits of 2 "
           "and 3 "
           "depend on the number of ranks",
           0, 3)
      .conflicts_with(evaluation)
      .add("zero-group", &s.zero_group, "WHO",
           "ranks that divide it: all; node (those of a node; where several divide sequences and several the "
           "batch, it must have them all); or so many in a row, those that divide the batch first; groups "
           "hold "
           "the same")
      .conflicts_with(evaluation)
      .require("--zero 1, 2 or 3", [&s] { return s.zero > 0 || s.compare_layouts; })
      .add("overlap", &s.overlap,
           "ranks compute while weights and gradients are on their way; without, to see what that is worth")
      .add(
          "comm-bucket-bytes", &s.comm_bucket_bytes, "SIZE",
          "how much of the gradients and weights is under way in messages at a time, and so the most memory "
          "for what arrives; 0: all that units hand over; GPUs that talk through NCCL keep 4 × SIZE for each "
          "group that sums, at most 128 MiB; no bit depends on it",
          0, std::int64_t{1} << 50)
      .conflicts_with(evaluation)
      .add("comm", &s.comm, "KIND",
           "self (one rank), threads=N (N ranks as threads of this process), mpi, nccl (mpi, whose ranks' "
           "GPUs "
           "talk through NCCL); default: under mpirun and srun nccl where each rank has a GPU of its own, "
           "else "
           "mpi; elsewhere self")
      .add("comm-timeout", &s.comm_timeout, "TIME",
           "how long a rank waits for its GPU and for others, also while one reads, writes or cleans up, "
           "before it says who is missing and the run ends");
}

/// Adds the option of a hyper-parameter, which only the optimizers that use it take.
void add_hyper_parameter(OptionTable& t, Settings& s, const optim::HyperParameter& parameter) {
  const auto add = [&](auto* asked) {
    if constexpr (std::is_same_v<decltype(asked), std::optional<bool>*>)
      t.add(parameter.name, asked, parameter.help);
    else
      t.add(parameter.name, asked, "X",
            fmt::format("{}; default: {}", parameter.help, optim::describe_defaults(parameter)), 0,
            parameter.is_below_one ? 1 : 1e300);
  };
  std::visit([&](const auto& members) { add(&(s.optimizer.*members.asked)); }, parameter.members);
  const std::vector<std::string> users = optim::users_of(parameter);
  t.conflicts_with(evaluation).require(fmt::format("--optimizer {}", fmt::join(users, " or ")), [&s, users] {
    return std::ranges::count(users, name_of(s.optimizer.kind)) > 0;
  });
}

void add_optimizer(OptionTable& t, Settings& s) {
  std::vector<std::string_view> kinds_falling_last;
  for (const auto& [name, kind] : enum_names(optim::LearningRateScheduleKind{}))
    if (optim::falls_last(kind)) kinds_falling_last.push_back(name);
  const std::string falling_last = fmt::format("{}", fmt::join(kinds_falling_last, " or "));
  t.group("Optimizer and learning rate")
      .add("lr", &s.learning_rate.peak, "X", "peak learning rate")
      .conflicts_with(evaluation)
      .add("min-lr", &s.learning_rate.minimum, "X", "at the end of the schedule; default: lr/10")
      .conflicts_with(evaluation)
      .require("a schedule that falls", [&s] { return optim::falls(s.learning_rate.kind); })
      .add("warmup-steps", &s.learning_rate.warmup_steps, "N", "linear warm-up; default: 1 % of the steps")
      .conflicts_with(evaluation)
      .choice("schedule", &s.learning_rate.kind,
              "learning rate after the warm-up; wsd and wsd-cosine fall in the last decay-steps only")
      .conflicts_with(evaluation)
      .add("decay-steps", &s.learning_rate.decay_steps, "N",
           fmt::format("the last steps of {}, falling to min-lr; default: 20 % of the steps", falling_last))
      .conflicts_with(evaluation)
      .require("--schedule " + falling_last, [&s] { return optim::falls_last(s.learning_rate.kind); })
      .add("lr-reference-batch", &s.learning_rate.reference_batch, "N",
           "linear scaling: learning rates × global-batch / N", 1)
      .conflicts_with(evaluation)
      .choice("optimizer", &s.optimizer.kind, "update rule; a resume keeps it")
      .conflicts_with(evaluation);
  for (const optim::HyperParameter& parameter : optim::hyper_parameters())
    add_hyper_parameter(t, s, parameter);
  t.add("clip-norm", &s.clip_norm, "X", "of the whole gradient; 0: no clipping").conflicts_with(evaluation);
}

void add_checkpoints(OptionTable& t, Settings& s) {
  t.group("Checkpoints")
      .add("save-every", &s.save.every, "N", "steps; 0: only at the end")
      .conflicts_with(all_but_kept_runs)
      .add("background-save", &s.save.in_background,
           "write while training goes on, from a copy of what is saved, which takes as much memory")
      .conflicts_with(all_but_kept_runs)
      .require("--save-every", [&s] { return s.save.every > 0; })
      .add("checkpoint-writers-per-node", &s.save.writers_per_node, "N",
           "groups of a node's ranks that write one HDF5 file each: the first rank of a group writes, the "
           "others need memory for a copy of what they save; default: each rank writes its own",
           1)
      .conflicts_with(all_but_kept_runs)
      .conflicts_with({"checkpoint-local"}, "each rank writes its own")
      .add("checkpoint-local", &s.save.local_folder, "DIR",
           "save into DIR, storage of each node's own, with a copy on the next node; a start goes on from "
           "what its nodes hold, where that is the newest")
      .conflicts_with(all_but_kept_runs)
      .require("--save-every", [&s] { return s.save.every > 0; })
      .add("encrypt-copies", &s.save.encrypts_copies,
           "with --checkpoint-local: encrypt the copies that nodes send each other; all are authenticated")
      .conflicts_with(all_but_kept_runs)
      .require("--checkpoint-local", [&s] { return s.save.local_folder.has_value(); })
      .add("flush-every", &s.save.flush_every, "N",
           "with --checkpoint-local: every Nth save, and the last before the run ends or is told to, goes to "
           "the run directory instead",
           1, max_steps)
      .conflicts_with(all_but_kept_runs)
      .require("--checkpoint-local", [&s] { return s.save.local_folder.has_value(); })
      .add("keep-last", &s.save.keep_last, "N", "checkpoints; default: all", 1)
      .conflicts_with(all_but_kept_runs)
      .add("keep-every", &s.save.keep_every, "N",
           "steps whose checkpoints stay in spite of --keep-last; 0: none")
      .conflicts_with(all_but_kept_runs)
      .require("--keep-last", [&s] { return s.save.keep_last.has_value(); })
      .add("resume", &s.resume.from, "WHAT",
           "auto (the newest checkpoint of the run that loads; from step 0 only where there is none), never "
           "(from step 0, as a new generation), or a checkpoint")
      .conflicts_with(proofs);
}

void add_evaluation(OptionTable& t, Settings& s) {
  t.group("Evaluation and logging")
      .add("eval-every", &s.evaluation.every, "N", "steps; 0: only at the end")
      .conflicts_with(all_but_kept_runs)
      .add("eval-batches", &s.evaluation.batches, "N", "global batches of the validation split; default: all",
           1, max_steps)
      .conflicts_with(proofs)
      .add("log-every", &s.logging.every, "N", "steps", 1)
      .conflicts_with(all_but_kept_runs)
      .add("peak-flops", &s.logging.peak_flops, "X",
           "FLOP/s of a rank that MFU refers to, such as 989T; default: the device's peak where it is known, "
           "else "
           "the best matrix multiply, measured",
           1)
      .use_decimal_units()
      .conflicts_with(all_but_kept_runs)
      .add("profile", &s.logging.profile, "STEPS",
           "a step, 10, or several, 10-12: each rank draws what it did in each into the run's profile/, for "
           "ui.perfetto.dev and chrome://tracing, and rank 0 tells where the time went")
      .conflicts_with(all_but_kept_runs)
      .add("eval-only", &s.eval_only, "evaluate --init-from, or what --resume finds, and end")
      .add("logits-out", &s.evaluation.logits_file, "FILE.h5",
           "with --eval-only: store logits and tokens of validation sequences")
      .require("--eval-only", [&s] { return s.eval_only; })
      .add("logits-sequences", &s.evaluation.logits_sequences, "N", "how many", 1)
      .require("--logits-out", [&s] { return s.evaluation.logits_file.has_value(); })
      .add("dry-run", &s.dry_run,
           "check everything, estimate memory, time and disk, print what would run, change nothing")
      .conflicts_with(evaluation);
}

void add_planning(OptionTable& t, Settings& s) {
  const std::string planning = "--dry-run or --show-schedule";
  const auto is_planning = [&s] { return s.dry_run || s.show_schedule; };
  t.group("Proof")
      .add(
          "compare-layouts", &s.compare_layouts, "LIST",
          "make --steps steps under each layout and print how they differ from the first's; exit 5 where "
          "more than may be. Layouts apart by ';', of pp=, schedule=, virtual-stages=, stage-units= (such "
          "as 5+7+7+5), dp=, cp=, tp=, sp=on (the first pp × dp × cp × tp ranks), zero=, zero-group=, "
          "comm-bucket-bytes=, recompute=, micro-batch=, threads=, which default to this command's; of other "
          "stages than its, stage-units to those by FLOPs")
      .conflicts_with(evaluation)
      .add("show-schedule", &s.show_schedule,
           "draw what each stage does in a step, by predicted times or, with --run, those that it measured "
           "on CPUs, with the bubble, memory and bytes that ranks move; then what rank 0 does, an action a "
           "line")
      .conflicts_with(evaluation)
      .add("svg", &s.svg, "FILE", "with --show-schedule: draw into a picture, too")
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("roofline", &s.roofline, "GPU",
           fmt::format(
               "with --show-schedule: print what a step's operations take on that GPU, without one, and "
               "the MFU that follows: {}",
               plan::gpu_rate_names()))
      .require("--show-schedule", [&s] { return s.show_schedule; })
      .add("ranks", &s.ranks, "N",
           "plan for so many ranks, of which none is there; nothing of this machine is asked, --device cuda "
           "is a "
           "GPU a rank",
           1, max_stages)
      .conflicts_with({"comm"}, "it starts the ranks that there are")
      .require(planning, is_planning)
      .add("ranks-per-node", &s.ranks_per_node, "M", "with --ranks: on each node; default: all on one", 1,
           max_stages)
      .require("--ranks", [&s] { return s.ranks.has_value(); })
      .add("rank-flops", &s.forecast.rank_flops, "X",
           "FLOP/s that a rank is taken to compute in plans, such as 400T", 1)
      .use_decimal_units()
      .require("--dry-run, or --show-schedule without --run",
               [&s] { return s.dry_run || (s.show_schedule && !s.resume.run); })
      .add("link-bandwidth", &s.forecast.link_bandwidth, "X",
           "bytes/s that a rank is taken to send to another node in plans (dt-allreduce-bench measures it), "
           "such as 50G",
           1)
      .use_decimal_units()
      .require(planning, is_planning)
      .add("node-bandwidth", &s.forecast.node_bandwidth, "X",
           "the same within a node; default: --link-bandwidth", 1)
      .use_decimal_units()
      .require(planning, is_planning);
}

}  // namespace

OptionTable make_options(Settings& settings) {
  OptionTable table("dt-train", "Trains a transformer language model on token shards.");
  table.run_as_ranks().timestamp_messages();
  table.usage(
      "--model PRESET|CONFIG.json --data DIR --run DIR --steps N [options]   (also under srun or mpirun)");
  table.usage("--run DIR [options]   (goes on with a run)");
  table.usage("--eval-only (--run DIR | --data DIR --init-from PATH) [options]");
  add_model_and_data(table, settings);
  add_duration(table, settings);
  add_batch(table, settings);
  add_arithmetic(table, settings);
  add_ranks(table, settings);
  add_optimizer(table, settings);
  add_checkpoints(table, settings);
  add_evaluation(table, settings);
  add_planning(table, settings);
  add_foreign_option_names(table);
  table.example("dt-train --model gpt2-124m --data shards --run runs/a --tokens 100M --save-every 100",
                "trains; the same command again goes on where it stopped");
  table.example("dt-train --run runs/a", "goes on with a run: options that are left out are the run's");
  table.example("dt-train --model llama-1b --data shards --run runs/b --steps 1000 --dry-run",
                "checks everything and estimates memory, time and disk");
  table.example(
      "dt-train --model llama-8b --steps 1000 --tp 8 --ranks 64 --ranks-per-node 8 --device cuda --dry-run",
      "plans for 8 nodes of 8 GPUs, without them and without data");
  table.example("srun --mpi=pmix dt-train --model gpt2-124m --data shards --run runs/c --steps 1000",
                "one rank a task, each with its share of every batch (see jobs/train.sbatch)");
  table.example(
      "srun --mpi=pmix dt-train … --save-every 20 --checkpoint-local /local/scratch --flush-every 50",
      "saves often, on the nodes; in runs/… every 1000 steps and at the end");
  table.example(
      "mpirun -n 4 dt-train --model llama-tiny --data shards --steps 50 --micro-batch 2 --compare-layouts "
      "\"dp=1; dp=4,zero=3\"",
      "proves that the layout changes no bit");
  table.example("dt-train --eval-only --run runs/a --json", "the validation loss of the newest checkpoint");
  table.check([&settings] { check_settings(settings); });
  table.defer_checks();  // a resume first supplies omitted options from its run
  return table;
}

}  // namespace dt::train_tool
