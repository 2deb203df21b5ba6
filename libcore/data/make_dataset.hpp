#pragma once
// Text files to a finished dataset.

#include <cstdint>
#include <functional>
#include <string>

#include "base/tasks.hpp"
#include "data/dataset_file.hpp"
#include "data/encode_inputs.hpp"
#include "data/split_rule.hpp"

namespace dt::data {

struct MakeOptions : EncodeOptions {
  /// Tokens of a tokenizer that is learned from the inputs first, at least 257; 0: `tokenizer` is taken.
  std::uint32_t train_vocabulary = 0;
  std::uint64_t min_pair_count = 1;  // pairs that are there less often do not become a token
  std::uint64_t shard_tokens = std::uint64_t{64} << 20;
  double val_fraction = 0.01;  // of the documents, in [0, 1)
  std::uint64_t seed = 0;
  SplitBy split_by = SplitBy::order;
  bool shuffle = true;
  bool deduplicate = false;     // of documents with the same tokens the first one stays
  std::uint64_t min_chars = 0;  // documents of fewer, or more, Unicode characters are left out
  std::uint64_t max_chars = no_chars;
  bool overwrite = false;     // only ever another dataset
  bool resumes = false;       // goes on with what an interrupted run left, and leaves it when interrupted
  Task task;                  // of those that share the work
  std::string step;           // that the tasks are of
  double helper_wait_s = 60;  // how long a task waits for task 0 to begin
  std::uint64_t min_range_bytes = std::uint64_t{64} << 20;  // of the inputs, done at a time
  std::string tool;                                         // name and version, for dataset.json
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct MadeDataset {
  DatasetFile dataset;
  Flaws flaws;  // of the inputs
  LeftOut left_out;
};

/// Of training: count words, learn tokens; then of the dataset.
enum class MakePhase { count, learn, read, write };

/// Told how far a phase has come: bytes read (`total` 0 where it is unknown), tokens learned or written. It
/// may throw to stop the work; it is also called a few times a second while a pipe has nothing to read.
using MakeProgress = std::function<void(MakePhase phase, std::uint64_t done, std::uint64_t total)>;

/// Makes the dataset `folder` from text. The same inputs and options give the same shards, whatever `threads`
/// is. Memory does not grow with the input: about 150 MiB, 20 MiB more for each thread beyond two (with a
/// tokenizer's file some 10 MiB more each, and the tokenizer; training it takes more:
/// see train_tokenizer), for JSON lines some times the longest
/// line, and a decompressor's window (up to `read.decompress_memory`); disk:
/// up to twice the finished dataset's. The validation split is the last max(1, round(f · D)) of the D
/// documents in their final order, never all of them; of a single document its last ⌈f · tokens⌉ tokens.
/// `folder` appears only when whole. Whatever happens before, what was written is removed, unless
/// `options.resumes`; then, and after a crash, the sibling ".<name>.partial" has it. Errors: input
/// (unreadable, empty or malformed inputs, naming file and line; `folder` exists), environment (a full disk).
MadeDataset make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress);

/// Encodes inputs for task 0, as every other task does. Nothing passes between tasks but files in the
/// unfinished dataset; where one dies, the others do its work. Returns false where task 0 has finished
/// already. Errors: usage, where task 0 was given another command or begins nothing in `helper_wait_s`.
bool help_to_make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress);

}  // namespace dt::data
