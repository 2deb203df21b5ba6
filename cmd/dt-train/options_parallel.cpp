// How training is laid over ranks, and how they communicate.

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

void add_parallelism(OptionTable& t, Settings& s) {
  t.group("Ranks")
      .add("tp", &s.tp, "T",
           "ranks that share each layer: some of its heads, features and rows of the vocabulary each; they "
           "talk twice a layer each way, so keep them within a node",
           1, plan::max_stages)
      .add("sequence-parallel", &s.sequence_parallel,
           "of what is not cut among them, norms and residuals, each has some rows alone: less memory, a "
           "quarter more bytes to move")
      .require("--tp 2 or more", [&s] { return s.tp > 1 || s.compare_layouts; })
      .add("cp", &s.cp, "C",
           "ranks that divide each sequence, for long ones: each has a part of it, keys and values go round",
           1, plan::max_stages)
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
           1, plan::max_stages)
      .choice(
          "pp-schedule", &s.pp_schedule,
          "in which order a stage computes, on which no bit depends; interleaved takes --virtual-stages of "
          "2 or more, zero-bubble 1 or 2")
      .add("virtual-stages", &s.virtual_stages, "V", "stages on each rank of a pipeline", 1, plan::max_stages)
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

}  // namespace dt::train_tool
