// The prose of dt-train's man page.

#include "cmd/dt-train/options.hpp"

namespace dt::train_tool {

Manual manual() {
  return {
      .description =
          "dt-train trains a transformer language model on token shards that dt-shard-data made. It runs as "
          "one rank, as threads of one process, or as many ranks that mpirun or srun starts: srun with "
          "--mpi=pmix for Open MPI, and --mpi=pmi2 for MPICH. Ranks compute on CPUs or on NVIDIA GPUs. "
          "dt-train has data parallelism (with ZeRO), tensor, sequence, context "
          "and pipeline parallelism; dt-layouts(7) explains how to choose.\n\n"
          "The order of the data and the initial weights do not depend on the layout. Under the conditions "
          "of dt-layouts(7), no bit of the trained weights depends on it. --compare-layouts proves this for "
          "a model and a machine.\n\n"
          "The run directory of --run holds checkpoints, metrics and the options of the run. The same "
          "command again, or --run alone, resumes from the newest checkpoint that loads, on any number of "
          "ranks. Options that a resume omits keep the values of the run.\n\n"
          "After SIGTERM, SIGUSR1, SIGHUP or SIGINT dt-train completes the current step, saves and exits. A "
          "second SIGINT ends it at once.",
      .sections = {{"OUTPUT",
                    "A row of the table on standard output covers the steps since the row before it. With "
                    "--json, standard output has the lines of metrics.jsonl instead. Messages and progress "
                    "go to standard error.",
                    {{"step", "Optimizer steps since the start of the run."},
                     {"loss", "The mean cross-entropy over these steps, in nats per target token."},
                     {"lr", "The learning rate of the step."},
                     {"grad norm", "The norm of the whole gradient before clipping."},
                     {"tokens/s", "Tokens of all ranks per second."},
                     {"MFU",
                      "Model FLOP/s divided by the peak FLOP/s of the ranks. \"peak\" in the heading: the "
                      "device's peak, or --peak-flops. \"measured\": the rate of the best matrix product, "
                      "measured at the start."},
                     {"UTC", "Time of day."},
                     {"validation",
                      "A row for each evaluation (--eval-every): the mean loss over the validation tokens. "
                      "For a mixture, rows for its datasets follow."}}}},
      .files = {{"RUN/run.json", "The options of the run, and every change to them."},
                {"RUN/metrics.jsonl",
                 "Losses, learning rates, times, evaluations, saves and starts: one JSON object per line."},
                {"RUN/checkpoints/step-SSSSSSSS.gN/", "A checkpoint; see dt-checkpoints(7)."},
                {"RUN/generations/",
                 "One file for each start: host, job, environment, and the checkpoint that it resumed from."},
                {"RUN/flight/",
                 "The last operations of each rank, to diagnose ranks that hang or have died."},
                {"RUN/profile/", "Traces of the steps that --profile names, for ui.perfetto.dev."},
                {"RUN/unit_times.json", "Measured times of the model's units, for --show-schedule."},
                {"RUN/tokenizer/", "The tokenizer of the data, for dt-merge."}},
      .exit_codes =
          {{"5",
            "With --compare-layouts: a layout differs from the first by more than its guarantee allows."},
           {"75", "A signal stopped the run before it was done, and its state was saved. Start it again."}},
      .see_also = {"dt-allreduce-bench(1)", "dt-checkpoint(1)", "dt-merge(1)", "dt-shard-data(1)",
                   "dt-formats(5)", "dt-checkpoints(7)", "dt-environment(7)", "dt-layouts(7)"}};
}

}  // namespace dt::train_tool
