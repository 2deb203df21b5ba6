// The prose of dt-checkpoint's man page.

#include "cmd/dt-checkpoint/options.hpp"

namespace dt::checkpoint_tool {

Manual manual() {
  return {
      .description =
          "dt-checkpoint lists, verifies, compares, reshards, prunes, imports and repairs the checkpoints of "
          "dt-train. It needs neither MPI nor a GPU, streams what it reads, and works in bounded memory, so "
          "it can run on a login node, also beside a job that trains.\n\n"
          "Under srun tasks divide the work of verify and other commands that read all of a checkpoint; see "
          "--share-tasks. Data go to standard output, with --json an object for each row. Messages go to "
          "standard error.",
      .sections =
          {{"OUTPUT OF LIST",
            "A row is a checkpoint of the run.",
            {{"step", "Optimizer steps from the run's beginning."},
             {"generation", "The start of the run that wrote it."},
             {"size", "The size of its files."},
             {"layout",
              "How it was laid over ranks; see dt-layouts(7). ? where the manifest cannot be read."},
             {"age", "Time since it was created."},
             {"complete",
              "yes if the manifest is whole and all files are there in their sizes; a message says what is "
              "missing. verify also checks the content."},
             {"lineage", "yes if a resume of the run may take it."},
             {"path", "Its folder, which the other commands take."}}},
           {"OUTPUT OF SHOW",
            "The state of the training, then a row for each tensor. Digests are hexadecimal.",
            {{"samples, tokens", "What has been consumed since the run's beginning."},
             {"data digest",
              "A sum over all samples and their tokens. Two runs saw the same data exactly if theirs are "
              "equal."},
             {"dataset", "The digest of the dataset's content."},
             {"batch", "Sequences of a step, of a micro-batch, and the number of gradient lanes."},
             {"conditions", "What equal bits depend on beside the settings."},
             {"mesh", "The layout over ranks; see dt-layouts(7)."},
             {"kind", "weights, or state of the optimizer, such as adam_m."},
             {"pieces", "whole, or the number of pieces that the files hold."}}},
           {"OUTPUT OF DIFF",
            "A row is a tensor of A or B.",
            {{"result", "equal (in every bit), differs, only in A, only in B, other shape, or other dtype."},
             {"max abs diff", "The largest absolute difference of two elements."},
             {"rel L2 diff", "The L2 norm of the difference, divided by the L2 norm of A's tensor."}}}},
      .files = {{"RUN/checkpoints/step-SSSSSSSS.gN",
                 "A checkpoint of step S, written by generation N; see dt-checkpoints(7)."},
                {"RUN/checkpoints/step-SSSSSSSS.gN/manifest.json",
                 "State, layout, files, pieces and digests."},
                {"RUN/generations/", "A file for each start of the run, which gives the lineage."}},
      .exit_codes = {{"5",
                      "verify, diff or repair: a digest is wrong, tensors differ, or what is damaged could "
                      "not be repaired."}},
      .see_also = {"dt-merge(1)", "dt-train(1)", "dt-formats(5)", "dt-checkpoints(7)", "dt-environment(7)",
                   "dt-layouts(7)"}};
}

}  // namespace dt::checkpoint_tool
