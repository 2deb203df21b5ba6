#include "cmd/dt-train/options.hpp"

#include "cmd/dt-train/option_groups.hpp"
#include "model/model_spec.hpp"
#include "plan/settings.hpp"
#include "plan/time/roofline.hpp"

namespace dt::train_tool {

using plan::Settings;

OptionTable make_options(Settings& settings) {
  OptionTable table("dt-train", "train a transformer language model on token shards");
  table.run_as_ranks().timestamp_messages();
  table.usage(
      "--model PRESET|CONFIG.json --data DIR --run DIR --steps N [options]   (also under srun or mpirun)");
  table.usage("--run DIR [options]   (resume a run)");
  table.usage("--eval-only (--run DIR | --data DIR --init-from PATH) [options]");
  add_model_and_data(table, settings);
  add_duration(table, settings);
  add_batch(table, settings);
  add_precision(table, settings);
  add_parallelism(table, settings);
  add_optimizer(table, settings);
  add_checkpoints(table, settings);
  add_evaluation(table, settings);
  add_planning(table, settings);
  add_foreign_option_names(table);
  table.example("dt-train --model gpt2-124m --data shards --run runs/a --tokens 100M --save-every 100",
                "train; the same command again resumes from the newest checkpoint");
  table.example("dt-train --run runs/a", "resume a run; omitted options keep their values");
  table.example("dt-train --model llama-1b --data shards --run runs/b --steps 1000 --dry-run",
                "check everything, and estimate memory, time and disk space");
  table.example(
      "dt-train --model llama-8b --steps 1000 --tp 8 --ranks 64 --ranks-per-node 8 --device cuda --dry-run",
      "plan for 8 nodes of 8 GPUs, without the nodes and without data");
  table.example("srun --mpi=pmix dt-train --model gpt2-124m --data shards --run runs/c --steps 1000",
                "train under Slurm, with one rank per task; with MPICH --mpi=pmi2 (see jobs/train.sbatch)");
  table.example(
      "srun --mpi=pmix dt-train … --save-every 20 --checkpoint-local /local/scratch --flush-every 50",
      "save every 20 steps to the nodes' storage, and every 1000 steps to the run directory");
  table.example(
      "mpirun -n 4 dt-train --model llama-tiny --data shards --steps 50 --micro-batch 2 --compare-layouts "
      "\"dp=1; dp=4,zero=3\"",
      "prove that the layout changes no bit of the weights");
  table.example("dt-train --eval-only --run runs/a --json",
                "print the validation loss of the newest checkpoint");
  table.complete("model", model::preset_names())
      .complete("resume", {"auto", "never"})
      .complete("comm", {"self", "threads=", "mpi", "nccl"})
      .complete("zero-group", {"all", "node"})
      .complete("roofline", plan::gpu_rate_names())
      .everyday({"model", "data", "run", "steps", "tokens", "global-batch", "micro-batch", "sequence-length",
                 "device", "precision", "tp", "pp", "zero", "lr", "save-every", "keep-last", "dry-run"});
  table.check([&settings](const OptionTable&) { check_settings(settings); });
  table.defer_checks();  // a resume first supplies omitted options from its run
  return table;
}

}  // namespace dt::train_tool
