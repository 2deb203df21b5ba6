// The prose of dt-merge's man page.

#include "cmd/dt-merge/options.hpp"

namespace dt::merge_tool {

Manual manual() {
  return {
      .description =
          "dt-merge exports a checkpoint that dt-train wrote in any layout as one model: a Hugging Face "
          "folder that transformers loads, or one HDF5 file with dt's own parameter names. With --average it "
          "exports the mean of several checkpoints.\n\n"
          "It needs neither MPI nor a GPU. It streams tensor by tensor, so its memory does not grow with the "
          "model. It checks every byte that it reads against the checkpoint's digests. The model appears "
          "under its name only when it is complete; if dt-merge is stopped, it leaves no output.\n\n"
          "With --json standard output has one object that describes the model; without, it is empty. "
          "Messages and progress go to standard error.",
      .files = {{"PATH/config.json", "The configuration of the model, in the family that it was trained as."},
                {"PATH/model.safetensors",
                 "The weights, with Hugging Face's parameter names. A model larger than --max-shard-bytes "
                 "has model-NNNNN-of-NNNNN.safetensors and model.safetensors.index.json."},
                {"PATH/tokenizer.json",
                 "The tokenizer, and files of its configuration, if the run or its dataset has them."},
                {"PATH/optimizer.safetensors", "With --with-optimizer: the optimizer state."},
                {"FILE.h5", "With --format h5: /parameters/NAME for each tensor; see dt-formats(5)."}},
      .see_also = {"dt-checkpoint(1)", "dt-train(1)", "dt-formats(5)", "dt-checkpoints(7)",
                   "dt-environment(7)"}};
}

}  // namespace dt::merge_tool
