// The prose of dt-checkpoint's man page.

#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

Manual manual() {
  return {
      .description =
          "dt-checkpoint lists, verifies, compares, reshards, prunes, imports and repairs the checkpoints of "
          "dt-train. It needs neither MPI nor a GPU, and its memory is bounded. So it can run on a login "
          "node, also while a job trains in the same run directory.\n\n"
          "Under srun the tasks of a step divide the files of verify; commands that write run on task 0 "
          "alone. See --share-tasks. Results go to standard output, with --json as one object per row. "
          "Messages go to standard error.",
      .sections =
          {{"OUTPUT OF LIST",
            "Each row is a checkpoint of the run.",
            {{"step", "Optimizer steps since the start of the run."},
             {"generation", "The number of the start of the run that wrote it."},
             {"size", "The size of its files."},
             {"layout",
              "The layout of the ranks that wrote it; see dt-layouts(7). ? if the manifest cannot be read."},
             {"age", "Time since it was created."},
             {"complete",
              "yes if the manifest is valid and all files exist with their sizes; otherwise a message states "
              "what is missing. verify also checks the content."},
             {"lineage", "yes if a resume of the run may load it; see dt-checkpoints(7)."},
             {"path", "Its folder, as the other commands expect it."}}},
           {"OUTPUT OF SHOW",
            "The state of the training, followed by a row for each tensor. Digests are hexadecimal.",
            {{"samples, tokens", "Samples and tokens that the run has consumed since its start."},
             {"data digest",
              "A digest over all samples and their tokens. If it is equal for two runs, they saw the same "
              "data."},
             {"dataset digest", "The digest of the dataset's content."},
             {"batch", "Sequences of a step, of a micro-batch, and the number of gradient lanes."},
             {"lr schedule", "The learning-rate schedule and its parameters."},
             {"conditions",
              "What bit-identical results depend on besides the settings, such as threads and arithmetic."},
             {"layout", "The layout of the ranks that wrote it; see dt-layouts(7)."},
             {"kind", "weights, or a kind of optimizer state, such as adam_m."},
             {"pieces", "whole, or the number of pieces that the files hold."}}},
           {"OUTPUT OF DIFF",
            "Each row is a tensor of A or B.",
            {{"result", "equal (in every bit), differs, only in A, only in B, other shape, or other dtype."},
             {"max abs diff", "The largest absolute difference of two elements."},
             {"rel L2 diff", "The L2 norm of the difference, divided by the L2 norm of A's tensor."}}}},
      .files = {{"RUN/checkpoints/step-SSSSSSSS.gN",
                 "A checkpoint of step S, written by generation N; see dt-checkpoints(7)."},
                {"RUN/checkpoints/step-SSSSSSSS.gN/manifest.json",
                 "State, layout, files, pieces and digests."},
                {"RUN/generations/",
                 "One file for each start of the run; together they determine the lineage."}},
      .exit_codes =
          {{"5", "verify: a digest does not match. diff: tensors differ. repair: damaged parts remain."}},
      .see_also = {"dt-merge(1)", "dt-train(1)", "dt-formats(5)", "dt-checkpoints(7)", "dt-environment(7)",
                   "dt-layouts(7)"}};
}

}  // namespace dt::checkpoint_tool
