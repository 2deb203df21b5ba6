// What a run writes and evaluates: checkpoints, validation, logs.

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

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

}  // namespace dt::train_tool
