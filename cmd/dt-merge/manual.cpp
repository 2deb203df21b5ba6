// The prose of dt-merge's man page.

#include "cmd/dt-merge/options.hpp"

namespace dt::merge_tool {

Manual manual() {
  return {.description =
              "dt-merge makes one model of a checkpoint that dt-train wrote in any layout: a Hugging Face "
              "folder that transformers loads, or one HDF5 file under dt's own names. With --average it "
              "makes the mean of several checkpoints.\n\n"
              "It needs neither MPI nor a GPU. It streams tensor by tensor, so its memory does not grow with "
              "the model. Every byte that it reads is checked against the checkpoint's digests. The model "
              "appears under its name only when it is whole; a run that is stopped leaves nothing.\n\n"
              "Nothing goes to standard output but, with --json, one object that describes the model.",
          .files = {{"PATH/config.json", "The model's configuration, of the family that it was trained as."},
                    {"PATH/model.safetensors",
                     "The weights, under Hugging Face's names. A model larger than --max-shard-bytes has "
                     "model-NNNNN-of-NNNNN.safetensors and model.safetensors.index.json."},
                    {"PATH/tokenizer.json",
                     "The tokenizer, and its configuration, where the run or its dataset has them."},
                    {"PATH/optimizer.safetensors", "With --with-optimizer: the optimizer's state."},
                    {"FILE.h5", "With --format h5: /parameters/NAME for each tensor; see dt-formats(5)."}},
          .see_also = {"dt-checkpoint(1)", "dt-train(1)", "dt-formats(5)", "dt-checkpoints(7)",
                       "dt-environment(7)"}};
}

}  // namespace dt::merge_tool
