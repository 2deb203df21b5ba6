// The prose of dt-shard-data's man page.

#include "cmd/dt-shard-data/options.hpp"

namespace dt::shard_data {

Manual manual() {
  return {
      .description =
          "dt-shard-data makes a dataset of token shards, which dt-train reads, from text, JSON lines, "
          "conversations or token ids. It decompresses and unpacks inputs, tokenizes, removes duplicates, "
          "shuffles, and splits documents into training and validation. Shuffling is by document. The result "
          "depends on inputs and options alone, not on threads, tasks or interruptions.\n\n"
          "Exactly one of --out, --encode-only, --save-tokenizer, --show, --verify and --decode says what to "
          "do. A dataset appears under its name only when it is whole.\n\n"
          "Under srun the tasks of a step share the work of --out. A result goes to standard output, with "
          "--json as one object; messages and progress go to standard error.",
      .sections =
          {{"OUTPUT",
            "--out prints a row for each split, then what was left out of the inputs, then the digest. "
            "--show adds the tokenizer, the options by which the dataset was made, and a row for each shard.",
            {{"split", "train or validation."},
             {"documents", "Documents that begin in the split or shard."},
             {"tokens", "Tokens, those that end documents among them."},
             {"targets", "Of conversations with --loss-on: tokens that a model learns to predict."},
             {"shards", "Files of the split."},
             {"digest",
              "Of a dataset: depends on all tokens in order, not on how shards divide them. Datasets of the "
              "same digest are equal. Of a shard: its content."}}}},
      .files = {{"DIR/dataset.json", "What the dataset consists of, and how it was made."},
                {"DIR/train-NNNNN.h5", "Token shards of the training split."},
                {"DIR/validation-NNNNN.h5", "Token shards of the validation split."},
                {"DIR/tokenizer.json", "The tokenizer."},
                {".DIR.partial",
                 "Beside DIR: what an interrupted run with --resume has done. The same command with --resume "
                 "continues with it."}},
      .exit_codes = {{"5", "With --verify: the dataset is damaged."}},
      .see_also = {"dt-train(1)", "dt-formats(5)", "dt-environment(7)"}};
}

}  // namespace dt::shard_data
