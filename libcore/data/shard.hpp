#pragma once
// Reading one token shard (FORMATS.md, "Token shards").

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/files.hpp"
#include "data/dataset_file.hpp"
#include "data/split.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

struct ShardHeader {
  Split split = Split::train;
  TokenizerInfo tokenizer;
  DType dtype = DType::u16;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // that begin in it
  std::uint64_t bytes = 0;      // of the file
  std::uint64_t digest = 0;     // of its block digests
  bool masks_targets = false;   // some tokens are none
};

/// Read-only, its tokens memory-mapped; safe from several threads. Opening reads the header and the digests,
/// not the tokens. Errors: input, naming the file: no token shard, another version, truncated, corrupt.
class Shard {
 public:
  explicit Shard(const fs::path& path);
  ~Shard();
  Shard(Shard&&) noexcept;

  const fs::path& path() const;
  const ShardHeader& header() const;
  /// Error{input}: it is not what dataset.json says of it.
  void check_against(const ShardEntry& entry, const TokenizerInfo& tokenizer) const;

  /// Copies tokens from `begin` on. Verifies each block (block_problem) when it is first touched.
  void read(std::uint64_t begin, std::span<std::int32_t> out) const;
  /// The same as labels: negative where a token is no target.
  void read_labels(std::uint64_t begin, std::span<std::int32_t> out) const;

  /// Has the system read them in, without waiting, together with what their first use verifies.
  void will_need(std::uint64_t begin, std::uint64_t end) const;

  /// Where in its tokens those documents begin that begin within [begin, end), ascending. O(log documents +
  /// those found); the first call reads and verifies all of /document_offsets. Errors: input, naming the file
  /// and what is wrong with them.
  std::vector<std::uint64_t> document_starts(std::uint64_t begin, std::uint64_t end) const;

  /// The blocks of digest_block_bytes that the tokens are digested in; the last one may be short.
  std::size_t num_blocks() const;
  std::span<const std::byte> block(std::size_t index) const;
  /// Returns what is wrong with a block: its digest differs, or a token is outside the vocabulary; "" when
  /// nothing is.
  std::string block_problem(std::size_t index) const;
  /// Error{input}: its first token begins no document, though it is the first of its split.
  void check_begins_split() const;
  /// What is wrong with /document_offsets; "" when nothing is.
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
