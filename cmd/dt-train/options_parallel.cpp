// The options of layout and communication.

#include "cmd/dt-train/option_groups.hpp"

namespace dt::train_tool {

using plan::Settings;

namespace {

void add_layout(OptionTable& t, Settings& s) {
  t.group("Parallelism")
      .add("tp", &s.tp, "T", "tensor-parallel ranks, which split each layer; keep them within a node", 1,
           plan::max_stages)
      .details(
          "Each rank holds some of the attention heads, MLP features and vocabulary rows. The ranks "
          "communicate twice per layer in the forward pass, and twice in the backward pass.")
      .add("sequence-parallel", &s.sequence_parallel, "with --tp: also split norms and residuals, by tokens")
      .details("It saves activation memory, and sends a quarter more bytes.")
      .require("--tp 2 or more", [&s] { return s.tp > 1 || s.compare_layouts; })
      .add("cp", &s.cp, "C", "context-parallel ranks, which split each sequence", 1, plan::max_stages)
      .details(
          "Use it for long sequences. Each rank holds a part of every sequence, and keys and values "
          "circulate among the ranks.")
      .add("tp-overlap-chunks", &s.tp_overlap_chunks, "N",
           "number of row chunks, to overlap tensor-parallel communication with products; 0: automatic", 0,
           1024)
      .details(
          "One chunk is exchanged while the next is multiplied. With 0, ranks of one node use one chunk; "
          "otherwise the number depends on the size. The result does not depend on N.")
      .require("--tp 2 or more", [&s] { return s.tp > 1 || s.compare_layouts; })
      .choice("placement", &s.placement,
              "order of ranks; hosts: ranks of a host follow each other; launcher: the launcher's order")
      .details("With hosts, tensor-parallel ranks are the first to share a host.")
      .add("pp", &s.pp, "P", "pipeline-parallel ranks; each computes a stage of the model", 1,
           plan::max_stages)
      .details(
          "A stage consists of units: the embedding, blocks, and the head. Further ranks form more "
          "pipelines, which share the batch. Ranks that are part of no complete pipeline are idle.")
      .choice("pp-schedule", &s.pp_schedule, "order of computation in pipeline stages")
      .details(
          "The result does not depend on the schedule. interleaved needs --virtual-stages 2 or more, and "
          "zero-bubble 1 or 2.")
      .add("virtual-stages", &s.virtual_stages, "V", "stages on each pipeline-parallel rank", 1,
           plan::max_stages)
      .add("stage-units", &s.stage_units, "LIST",
           "number of units in each stage, such as 5,7,7,5; default: balanced by FLOPs")
      .details(
          "LIST has P × V numbers, in the order of the model. The default makes the slowest stage as fast as "
          "possible. P is --pp, and V is --virtual-stages.")
      .add("zero", &s.zero, "STAGE",
           "ZeRO stage; 0: none; 1: shard optimizer state; 2: also gradients; 3: also weights", 0, 3)
      .details(
          "Each data-parallel rank holds a shard instead of a replica. With several micro-batches per rank, "
          "the bits of stages 2 and 3 depend on the number of ranks.")
      .conflicts_with(evaluation)
      .add("zero-group", &s.zero_group, "GROUP",
           "ranks over which ZeRO shards: all, node, or a number of consecutive ranks")
      .details(
          "node: the ranks of each node. With both context and data parallelism, a node must hold all ranks "
          "that have the same weights. A number: groups of that many consecutive ranks, data-parallel ranks "
          "first. Every group holds the whole state.")
      .conflicts_with(evaluation)
      .require("--zero 1, 2 or 3", [&s] { return s.zero > 0 || s.compare_layouts; });
}

void add_communication(OptionTable& t, Settings& s) {
  t.group("Communication")
      .add("overlap", &s.overlap, "overlap computation with communication of weights and gradients")
      .details("Compare with --no-overlap to see how much time it saves.")
      .add("comm-bucket-bytes", &s.comm_bucket_bytes, "SIZE",
           "maximum bytes of gradients and weights in flight; 0: unlimited", 0, std::int64_t{1} << 50)
      .details(
          "SIZE also bounds the memory for received data. With 0, the weights and gradients of whole units "
          "are in flight. With NCCL, each group that sums gradients keeps 4 × SIZE of GPU memory, at most "
          "128 MiB. The result does not depend on SIZE.")
      .conflicts_with(evaluation)
      .add("comm", &s.comm, "KIND",
           "communication between ranks: self, threads=N, mpi or nccl; default: by launcher and GPUs")
      .details(
          "self: one rank. threads=N: N ranks as threads of this process. mpi: ranks that mpirun or srun "
          "started. nccl: the same ranks, whose GPUs communicate through NCCL.\n\n"
          "Under mpirun and srun the default is nccl if each rank has a GPU of its own, and otherwise mpi. "
          "Without a launcher it is self.")
      .add("comm-timeout", &s.comm_timeout, "TIME",
           "maximum wait for this rank's GPU and for other ranks; then the run ends")
      .details(
          "The error names the ranks that did not answer. The limit also applies while ranks wait for one "
          "that reads, writes or removes files.");
}

}  // namespace

void add_parallelism(OptionTable& t, Settings& s) {
  add_layout(t, s);
  add_communication(t, s);
}

}  // namespace dt::train_tool
