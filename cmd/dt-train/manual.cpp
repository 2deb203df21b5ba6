// The prose of dt-train's man page.

#include "cmd/dt-train/options.hpp"

namespace dt::train_tool {

Manual manual() {
  return {
      .description =
          "dt-train trains a transformer language model on token shards that dt-shard-data made, on one "
          "process, on threads of a process, or on many ranks that mpirun or srun starts. Ranks compute on "
          "CPUs or on NVIDIA GPUs. Training can be divided by data (with ZeRO), tensors, sequences and "
          "layers (pipeline); dt-layouts(7) explains how to choose.\n\n"
          "Data order, initial weights and, under the conditions of dt-layouts(7), every bit of the weights "
          "do not depend on the layout. --compare-layouts proves it for a model and machine.\n\n"
          "The run directory of --run holds checkpoints, metrics and the options of the run. The same "
          "command again, or --run alone, resumes from the newest checkpoint that loads, on any number of "
          "ranks. Options that a resume omits are those of the run.\n\n"
          "SIGTERM, SIGUSR1, SIGHUP and SIGINT save after the present step and end the run; a second SIGINT "
          "ends it at once.",
      .sections =
          {{"OUTPUT",
            "A row of the table on standard output covers the steps since the row before it. With --json, "
            "standard output has the lines of metrics.jsonl instead. Messages go to standard error.",
            {{"step", "Optimizer steps from the run's beginning."},
             {"loss", "The mean cross-entropy over these steps, in nats per target token."},
             {"lr", "The learning rate of the step."},
             {"grad norm", "The norm of the whole gradient before clipping."},
             {"tokens/s", "Tokens of all ranks per second."},
             {"MFU",
              "Model FLOP/s divided by what the ranks' devices can do: peak is the device's peak or "
              "--peak-flops, measured is the best matrix product at the start."},
             {"UTC", "Time of day."},
             {"validation",
              "A row of --eval-every: the mean loss over the validation tokens; of a mixture, also that of "
              "each dataset."}}}},
      .files = {{"RUN/run.json", "The options of the run, and each change of them."},
                {"RUN/metrics.jsonl",
                 "Losses, learning rates, times, evaluations, saves and starts: an object a line."},
                {"RUN/checkpoints/step-SSSSSSSS.gN/", "A checkpoint; see dt-checkpoints(7)."},
                {"RUN/generations/",
                 "A file for each start: host, job, environment, and what it resumed from."},
                {"RUN/flight/",
                 "Which operation each rank is in, for the diagnosis of ranks that hang or died."},
                {"RUN/profile/", "Traces of the steps of --profile, for ui.perfetto.dev."},
                {"RUN/unit_times.json", "Measured times of the model's units, for --show-schedule."},
                {"RUN/tokenizer/", "The tokenizer of the data, for dt-merge."}},
      .exit_codes = {{"5", "With --compare-layouts: layouts differ by more than they may."},
                     {"75", "The run was stopped and saved before it was done; start it again."}},
      .see_also = {"dt-allreduce-bench(1)", "dt-checkpoint(1)", "dt-merge(1)", "dt-shard-data(1)",
                   "dt-formats(5)", "dt-checkpoints(7)", "dt-environment(7)", "dt-layouts(7)"}};
}

}  // namespace dt::train_tool
