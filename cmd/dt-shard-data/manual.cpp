// The prose of dt-shard-data's man page.

#include "cmd/dt-shard-data/options.hpp"

namespace dt::shard_data {

Manual manual() {
  return {
      .description =
          "dt-shard-data makes a dataset of token shards, which dt-train reads, from text, JSON lines, "
          "conversations or token ids. It decompresses and unpacks inputs, tokenizes and shuffles documents, "
          "and divides them into a training and a validation split. The result depends on the inputs and "
          "options alone, not on threads, tasks or interruptions.\n\n"
          "Exactly one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode selects what "
          "to do. A dataset appears under its name only when it is complete.\n\n"
          "Under srun the tasks of a step divide the work of --out. The result goes to standard output, with "
          "--json as one object. Messages and progress go to standard error.",
      .sections =
          {{"OUTPUT",
            "--out prints a row for each split, then what it skipped or filtered out of the inputs, then the "
            "digest. --show adds the tokenizer, the options that made the dataset, and a row for each shard.",
            {{"split", "train or validation."},
             {"documents", "The number of documents that begin in the split or shard."},
             {"tokens", "The number of tokens, including end-of-document tokens."},
             {"targets", "With --loss-on: the number of tokens that are targets of the loss."},
             {"shards", "The number of files of the split."},
             {"file, size", "The name of a shard, and its size in bytes."},
             {"digest",
              "The digest of the dataset is that of all tokens in order, whatever shards hold them. Datasets "
              "with equal digests have the same tokens. The digest of a shard is that of its content."}}}},
      .files = {{"DIR/dataset.json", "The shards, splits, counts and digests, and how the dataset was made."},
                {"DIR/train-NNNNN.h5", "Token shards of the training split."},
                {"DIR/validation-NNNNN.h5", "Token shards of the validation split."},
                {"DIR/tokenizer.json", "The tokenizer."},
                {".DIR.partial",
                 "The work of an interrupted run with --resume, beside DIR. The same command with --resume "
                 "continues from it."}},
      .exit_codes = {{"5", "With --verify: the dataset is damaged."}},
      .see_also = {"dt-train(1)", "dt-formats(5)", "dt-environment(7)"}};
}

}  // namespace dt::shard_data
