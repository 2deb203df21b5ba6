#pragma once
// Reading one token shard (FORMATS.md, "Token shards").

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/dtype.hpp"
#include "data/read/dataset_file.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* shard_format = "dt-token-shard";
inline constexpr std::int64_t shard_version = 1;
/// Version of shards that mark tokens which are not targets; see tokenizer.hpp.
inline constexpr std::int64_t masked_shard_version = 2;

struct TokenShardHeader {
  Split split = Split::train;
  TokenizerIdentity tokenizer;
  DType dtype = DType::u16;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // documents that begin in the shard
  std::uint64_t bytes = 0;      // file's size
  std::uint64_t digest = 0;     // digest of the block digests
  bool masks_targets = false;   // some tokens are not targets
};

/// A token shard, read-only, with memory-mapped tokens. Opening reads the header and the digests,
/// not the tokens.
/// Errors: input, naming the file: not a token shard, another version, truncated, corrupt.
/// Thread safety: safe from several threads.
class TokenShard {
 public:
  explicit TokenShard(const fs::path& path);
  ~TokenShard();
  TokenShard(TokenShard&&) noexcept;

  const fs::path& path() const;
  const TokenShardHeader& header() const;
  /// Checks the shard against its entry in dataset.json.
  /// Errors: input if they differ.
  void check_against(const ShardEntry& entry, const TokenizerIdentity& tokenizer) const;

  /// Copies tokens from `begin` on. Verifies each block (block_problem()) on its first use.
  void read(std::uint64_t begin, std::span<std::int32_t> out) const;
  /// Copies tokens as labels, which are negative if not a target.
  void read_labels(std::uint64_t begin, std::span<std::int32_t> out) const;

  /// Asks the system to read tokens in, with the data that verifies them on first use. Does not
  /// wait.
  void will_need(std::uint64_t begin, std::uint64_t end) const;

  /// Returns the beginnings of the documents that begin within [begin, end), ascending. O(log
  /// documents + those found). The first call reads and verifies all of /document_offsets.
  /// Errors: input, naming the file and the defect.
  std::vector<std::uint64_t> document_starts(std::uint64_t begin, std::uint64_t end) const;

  /// Returns the number of digested blocks of digest_block_bytes. The last block may be short.
  std::size_t num_blocks() const;
  std::span<const std::byte> block(std::size_t index) const;
  /// Returns a block's defect (its digest differs, or a token is outside the vocabulary), or "".
  std::string block_problem(std::size_t index) const;
  /// Checks that a document begins at the first token, for the first shard of a split.
  /// Errors: input if none does.
  void check_begins_split() const;
  /// Returns the defect of /document_offsets, or "".
  std::string document_offsets_problem() const;

 private:
  void check_tokens(std::uint64_t begin, std::uint64_t end) const;
  void verify_blocks(std::uint64_t begin, std::uint64_t end) const;
  template <class Use>
  void for_tokens(std::uint64_t begin, std::uint64_t count, Use use) const;
  bool is_verified(std::size_t block) const;
  void verify_document_offsets() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::data
