#pragma once
// Writes token shards (FORMATS.md, "Token shards"): first plans the contents of each, then takes a
// stream of documents.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hdf5/hdf5_file.hpp"
#include "base/io/owned_folder.hpp"
#include "base/numeric/digest.hpp"
#include "data/build/block_copier.hpp"
#include "data/build/spool_file.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/token_shard.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Storage format of tokens.
struct TokenStorage {
  DType dtype = DType::u16;    // u16 or u32
  bool masks_targets = false;  // u32 only
};

/// The header of a shard before its tokens are written.
struct ShardPlan {
  Split split = Split::train;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // documents that begin in the shard
  std::uint64_t offsets_digest = 0;
  bool operator==(const ShardPlan&) const = default;
};

/// Divides a split's stream of documents into shards of `shard_tokens`. Only the last is shorter.
class ShardPlanner {
 public:
  ShardPlanner(Split split, std::uint64_t shard_tokens) : split_(split), shard_tokens_(shard_tokens) {}
  /// Declares that the next token begins a document.
  void begin_document();
  void advance(std::uint64_t tokens);
  std::vector<ShardPlan> finish();

 private:
  void end_shard();
  void begin_shard_if_full();
  Split split_;
  std::uint64_t shard_tokens_;
  std::optional<ShardPlan> shard_;
  Digester offsets_;
  std::vector<ShardPlan> plans_;
};

/// Writes one shard as planned.
/// Errors: environment, from all calls.
class ShardWriter {
 public:
  /// `file` is empty, and open for reading and writing.
  ShardWriter(File file, const ShardPlan& plan, const TokenizerIdentity& tokenizer, TokenStorage storage,
              BlockCopier& copies);
  /// Units: bytes of tokens.
  std::uint64_t room() const { return total_bytes_ - submitted_bytes_ - block_bytes_; }
  void begin_document();
  /// Appends at most room() bytes of tokens.
  void append(const FileTokens& tokens);
  /// Syncs and closes the file. Returns the digest of the shard's block digests.
  std::uint64_t close();

 private:
  void add_to_block(const FileTokens& tokens);
  void submit_block();
  void flush_offsets();
  Hdf5Writer file_;
  std::size_t token_bytes_;
  std::uint64_t total_bytes_;
  std::uint64_t submitted_bytes_ = 0;
  std::uint64_t written_offsets_ = 0;
  std::vector<FileTokens> block_;  // source of the block's tokens
  std::uint64_t block_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;
  BlockCopier& copies_;
};

/// Writes a split's shards in order, except those that an interrupted run has finished. A document
/// continues in the next shard if one is full.
class ShardSeries {
 public:
  /// `folder` is one of the user's own; see OwnedFolder.
  ShardSeries(const fs::path& folder, std::vector<ShardPlan> plans, TokenizerIdentity tokenizer,
              TokenStorage storage, int num_threads);
  /// Units: bytes of tokens.
  std::uint64_t room() const { return room_; }
  void begin_document();
  /// Appends at most room() bytes of tokens.
  void append(FileTokens tokens);
  /// Adds the shards and the split to `dataset`. All planned tokens must have been written.
  void finish(Split split, DatasetFile& dataset);

 private:
  void open_next_if_full();
  std::uint64_t shard_room() const;
  void close_current();
  OwnedFolder folder_;
  std::vector<ShardPlan> plans_;
  TokenizerIdentity tokenizer_;
  TokenStorage storage_;
  std::unique_ptr<ShardWriter> current_;  // none if the shard is already finished
  std::uint64_t finished_room_ = 0;       // room in a finished shard
  std::vector<ShardEntry> entries_;
  std::uint64_t room_ = 0;
  BlockCopier copies_;  // destroyed before the shard that it writes to
};

}  // namespace dt::data
