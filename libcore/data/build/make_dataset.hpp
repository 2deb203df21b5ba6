#pragma once
// Makes a finished dataset from text files.

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "base/cli/tasks.hpp"
#include "base/text/enum_names.hpp"
#include "data/build/encode_inputs.hpp"
#include "data/build/split_rule.hpp"
#include "data/read/dataset_file.hpp"

namespace dt::data {

struct MakeOptions : EncodeOptions {
  /// Number of tokens of a tokenizer to train from the inputs first, at least 257; 0 uses
  /// `tokenizer`.
  std::uint32_t train_vocabulary = 0;
  std::uint64_t min_pair_count = 1;  // rarer pairs do not become a token
  std::uint64_t shard_tokens = std::uint64_t{64} << 20;
  double val_fraction = 0.01;  // fraction of documents, in [0, 1)
  std::uint64_t seed = 0;
  SplitBy split_by = SplitBy::order;
  bool shuffle = true;
  bool deduplicate = false;     // keeps the first of documents with the same tokens
  std::uint64_t min_chars = 0;  // documents with fewer characters, or more than max_chars, are left out
  std::uint64_t max_chars = no_chars;
  bool overwrite = false;     // replaces a dataset only
  bool resumes = false;       // continues what an interrupted run left, and leaves it when interrupted
  Task task;                  // place among the tasks that share the work
  std::string step;           // step of the tasks
  double helper_wait_s = 60;  // time that a task waits for task 0 to begin
  std::uint64_t min_range_bytes = std::uint64_t{64} << 20;  // minimum size of an InputRanges range
  std::string tool;                                         // name and version, for dataset.json
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

struct MadeDataset {
  DatasetFile dataset;
  InputIssues issues;  // issues of the inputs
  FilteredDocuments filtered;
};

/// Phases of training a tokenizer (count words, learn tokens), then of making the dataset.
enum class MakePhase { count, learn, read, write };
/// The labels in progress.
constexpr auto enum_names(MakePhase) {
  using enum MakePhase;
  return std::to_array<EnumName<MakePhase>>(
      {{"counting words", count}, {"learning", learn}, {"reading", read}, {"writing", write}});
}

/// Receives the progress of a phase: bytes read (`total` 0 if unknown), tokens learned or written.
/// It may throw to stop the work. It is also called a few times a second while a pipe has nothing
/// to read.
using MakeProgress = std::function<void(MakePhase phase, std::uint64_t done, std::uint64_t total)>;

/// Makes the dataset `folder` from text. The same inputs and options give the same shards, whatever
/// `threads` is. The validation split, with f = val_fraction, is the last max(1, round(f · D)) of
/// the D documents in their final order, never all of them. If there is a single document, the
/// split is its last ⌈f · tokens⌉ tokens.
///
/// Memory does not grow with the input. It is about 150 MiB, and 20 MiB for each thread beyond two.
/// A tokenizer's file adds some 10 MiB per thread, and the tokenizer itself; training one takes
/// more (see train_tokenizer). JSON lines add a few times the longest line. A decompressor's window
/// adds up to `read.decompress_memory`. Disk: up to twice the finished dataset's size.
///
/// `folder` appears only when complete. If the work ends before, the call removes what it has
/// written, unless `options.resumes`.
/// Errors: input for unreadable, empty or malformed inputs, naming file and line, and if `folder`
/// exists; environment (a full disk).
/// After a crash: the sibling ".<name>.partial" holds what was written; so it does after any
/// interruption with `options.resumes`.
MadeDataset make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress);

/// Encodes inputs for task 0, as every other task does. Tasks exchange nothing except files in the
/// unfinished dataset. If a task dies, the others do its work. Returns false if task 0 has already
/// finished.
/// Errors: usage if task 0 has another command, or begins nothing within `helper_wait_s`.
bool help_to_make_dataset(const fs::path& folder, const MakeOptions& options, const MakeProgress& progress);

}  // namespace dt::data
