#pragma once
// Writing token shards (FORMATS.md, "Token shards"): first a plan of what each will hold, then a stream of
// documents.

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/hdf5_file.hpp"
#include "data/dataset_file.hpp"
#include "data/split.hpp"
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

/// Writes one shard as planned. Memory: two digest blocks, of which one is filled while a thread of its own
/// digests and writes the other; with std::launch::deferred the caller does, when the next is full. Errors of
/// all calls: environment.
class ShardWriter {
 public:
  ShardWriter(const fs::path& path, const ShardPlan& plan, const TokenizerInfo& tokenizer,
              TokenStorage storage, std::launch writing);
  /// In bytes of tokens.
  std::uint64_t room() const { return total_bytes_ - written_bytes_ - block_.size(); }
  void begin_document();
  /// Not more than room().
  void append(std::span<const std::byte> tokens);
  /// Syncs, closes, and returns the digest of the shard's digests.
  std::uint64_t close();

 private:
  void flush_block();
  void wait_for_block();
  void flush_offsets();
  Hdf5Writer file_;
  std::size_t token_bytes_;
  std::uint64_t total_bytes_;
  std::uint64_t written_bytes_ = 0;
  std::uint64_t written_offsets_ = 0;
  std::vector<std::byte> block_;
  std::vector<std::uint64_t> offsets_;
  std::vector<std::uint64_t> digests_;
  std::launch writing_;
  std::vector<std::byte> written_block_;
  std::future<void> block_write_;  // waited for before all else ends
};

/// Writes a split's shards one after the other; a document flows over into the next one where a shard is
/// full.
class ShardSeries {
 public:
  ShardSeries(fs::path folder, std::vector<ShardPlan> plans, TokenizerInfo tokenizer, TokenStorage storage,
              std::launch writing);
  /// In bytes of tokens.
  std::uint64_t room() const { return room_; }
  void begin_document();
  /// Not more than room().
  void append(std::span<const std::byte> tokens);
  /// Adds the shards and the split to `dataset`; all that was planned must have been written.
  void finish(Split split, DatasetFile& dataset);

 private:
  void open_next_if_full();
  void close_current();
  fs::path folder_;
  std::vector<ShardPlan> plans_;
  TokenizerInfo tokenizer_;
  TokenStorage storage_;
  std::launch writing_;
  std::unique_ptr<ShardWriter> current_;
  std::vector<ShardEntry> entries_;
  std::uint64_t room_ = 0;
  Digester digester_;
};

}  // namespace dt::data
