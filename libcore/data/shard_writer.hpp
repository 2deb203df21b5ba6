#pragma once
// Writing token shards (FORMATS.md, "Token shards"): first a plan of what each will hold, then a stream of
// documents.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/hdf5_file.hpp"
#include "base/own_folder.hpp"
#include "data/block_copies.hpp"
#include "data/dataset_file.hpp"
#include "data/split.hpp"
#include "data/token_run.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* shard_format = "dt-token-shard";
inline constexpr std::int64_t shard_version = 1;
/// Of shards in which tokens that are no targets are marked; see target_flag.hpp.
inline constexpr std::int64_t masked_shard_version = 2;

/// How tokens are stored.
struct TokenStorage {
  DType dtype = DType::u16;    // u16 or u32
  bool masks_targets = false;  // u32 alone
};

/// What a shard's header says before its tokens are written.
struct ShardPlan {
  Split split = Split::train;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // that begin in it
  std::uint64_t offsets_digest = 0;
  bool operator==(const ShardPlan&) const = default;
};

/// Cuts a split's stream of documents into shards of `shard_tokens`; only the last one is shorter.
class ShardPlanner {
 public:
  ShardPlanner(Split split, std::uint64_t shard_tokens) : split_(split), shard_tokens_(shard_tokens) {}
  /// The next token begins a document.
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

/// Writes one shard as planned. Errors of all calls: environment.
class ShardWriter {
 public:
  /// `file` is empty, and open for reading and writing.
  ShardWriter(File file, const ShardPlan& plan, const TokenizerInfo& tokenizer, TokenStorage storage,
              BlockCopies& copies);
  /// In bytes of tokens.
  std::uint64_t room() const { return total_bytes_ - submitted_bytes_ - block_bytes_; }
  void begin_document();
  /// Not more than room().
  void append(const TokenRun& tokens);
  /// Syncs, closes, and returns the digest of the shard's digests.
  std::uint64_t close();

 private:
  void add_to_block(const TokenRun& tokens);
  void submit_block();
  void flush_offsets();
  Hdf5Writer file_;
  std::size_t token_bytes_;
  std::uint64_t total_bytes_;
  std::uint64_t submitted_bytes_ = 0;
  std::uint64_t written_offsets_ = 0;
  std::vector<TokenRun> block_;  // what it will be copied from
  std::uint64_t block_bytes_ = 0;
  std::vector<std::uint64_t> offsets_;
  BlockCopies& copies_;
};

/// Writes a split's shards one after the other, but for those that an interrupted run has finished; a
/// document flows over into the next one where a shard is full.
class ShardSeries {
 public:
  /// `folder` is one of the user's own; see OwnFolder.
  ShardSeries(const fs::path& folder, std::vector<ShardPlan> plans, TokenizerInfo tokenizer,
              TokenStorage storage, int num_threads);
  /// In bytes of tokens.
  std::uint64_t room() const { return room_; }
  void begin_document();
  /// Not more than room().
  void append(TokenRun tokens);
  /// Adds the shards and the split to `dataset`; all that was planned must have been written.
  void finish(Split split, DatasetFile& dataset);

 private:
  void open_next_if_full();
  std::uint64_t shard_room() const;
  void close_current();
  OwnFolder folder_;
  std::vector<ShardPlan> plans_;
  TokenizerInfo tokenizer_;
  TokenStorage storage_;
  std::unique_ptr<ShardWriter> current_;  // none where it is there already
  std::uint64_t finished_room_ = 0;       // of such a one
  std::vector<ShardEntry> entries_;
  std::uint64_t room_ = 0;
  BlockCopies copies_;  // ends before the shard that it writes to
};

}  // namespace dt::data
