// The options of checkpoints, evaluation and logging.

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

void add_checkpoints(OptionTable& t, Settings& s) {
  t.group("Checkpoints")
      .add("save-every", &s.save.every, "N", "steps between checkpoints; 0: only at the end")
      .conflicts_with(all_but_kept_runs)
      .add("background-save", &s.save.in_background, "write checkpoints while training continues")
      .details("They are written from a copy of the state, which needs as much memory as the state itself.")
      .conflicts_with(all_but_kept_runs)
      .require("--save-every", [&s] { return s.save.every > 0; })
      .add("checkpoint-writers-per-node", &s.save.writers_per_node, "N",
           "ranks per node that write checkpoint files; default: every rank writes its own file", 1)
      .details(
          "The ranks of a node form N groups, and each group writes one HDF5 file. The first rank of a group "
          "writes; the others need memory for a copy of what they save.")
      .conflicts_with(all_but_kept_runs)
      .conflicts_with({"checkpoint-local"}, "local checkpoints have one file per rank")
      .add("checkpoint-local", &s.save.local_folder, "DIR",
           "save to this node-local folder, with a copy on the next node")
      .details("A start resumes from the local checkpoint on its nodes if that is the newest one.")
      .conflicts_with(all_but_kept_runs)
      .require("--save-every", [&s] { return s.save.every > 0; })
      .add("encrypt-copies", &s.save.encrypts_copies,
           "with --checkpoint-local: encrypt the copies that nodes send to each other")
      .details("All copies are authenticated, whether encrypted or not.")
      .conflicts_with(all_but_kept_runs)
      .require("--checkpoint-local", [&s] { return s.save.local_folder.has_value(); })
      .add("flush-every", &s.save.flush_every, "N",
           "with --checkpoint-local: write every Nth checkpoint to the run directory", 1, max_steps)
      .details("The checkpoint at the end of the run, or after a signal, is always written there.")
      .conflicts_with(all_but_kept_runs)
      .require("--checkpoint-local", [&s] { return s.save.local_folder.has_value(); })
      .add("keep-last", &s.save.keep_last, "N", "number of newest checkpoints to keep; default: all", 1)
      .conflicts_with(all_but_kept_runs)
      .add("keep-every", &s.save.keep_every, "N",
           "with --keep-last: also keep checkpoints whose step is a multiple of N; 0: none")
      .conflicts_with(all_but_kept_runs)
      .require("--keep-last", [&s] { return s.save.keep_last.has_value(); })
      .add("resume", &s.resume.from, "WHAT", "checkpoint to resume from, or auto (the newest), or never")
      .details(
          "auto is the newest checkpoint of the run that loads. Only a run without checkpoints starts from "
          "step 0. never starts from step 0, as a new generation of the run.")
      .conflicts_with(proofs);
}

void add_evaluation(OptionTable& t, Settings& s) {
  t.group("Evaluation and logging")
      .add("eval-every", &s.evaluation.every, "N", "steps between evaluations; 0: only at the end")
      .conflicts_with(all_but_kept_runs)
      .add("eval-batches", &s.evaluation.batches, "N",
           "global batches of the validation split to evaluate; default: all", 1, max_steps)
      .conflicts_with(proofs)
      .add("log-every", &s.logging.every, "N", "steps between log lines", 1)
      .conflicts_with(all_but_kept_runs)
      .add("peak-flops", &s.logging.peak_flops, "X",
           "peak FLOP/s of a rank for MFU, such as 989T; default: the device's peak", 1)
      .details(
          "If the peak of the device is unknown, the default is the measured rate of the best matrix "
          "product.")
      .use_decimal_units()
      .conflicts_with(all_but_kept_runs)
      .add("profile", &s.logging.profile, "STEPS",
           "steps to trace, such as 10 or 10-12; the traces go to RUN/profile")
      .details(
          "Each rank writes a trace of each step, for ui.perfetto.dev and chrome://tracing. Rank 0 prints a "
          "summary of where the time went.")
      .conflicts_with(all_but_kept_runs)
      .add("eval-only", &s.eval_only, "evaluate --init-from, or the checkpoint that --resume finds, and exit")
      .add("logits-out", &s.evaluation.logits_file, "FILE.h5",
           "with --eval-only: write logits and tokens of validation sequences")
      .require("--eval-only", [&s] { return s.eval_only; })
      .add("logits-sequences", &s.evaluation.logits_sequences, "N", "number of sequences in --logits-out", 1)
      .require("--logits-out", [&s] { return s.evaluation.logits_file.has_value(); })
      .add("dry-run", &s.dry_run,
           "check everything, estimate memory, time and disk space, and change nothing")
      .details("It also prints the plan of the run.")
      .conflicts_with(evaluation);
}

}  // namespace dt::train_tool
