#pragma once
// A finished dataset: dataset.json and its HDF5 token shards, read as one long sequence of tokens
// per split.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/read/dataset_file.hpp"

namespace dt::data {

struct SplitInfo {
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
};

/// The subset of shards of one of `count` processes that open the same dataset. Each opens the shards of its
/// own subset at once, and others on first use. Opening a shard is slow, and there may be thousands
/// of shards and processes.
struct ShardSubset {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// A copy whose shards are read instead of the original's; see data/read/staging.hpp.
struct DatasetCopy {
  std::filesystem::path folder = {};  // empty if there is no copy
  /// The dataset calls this at most once, from any thread, when the copy does not match the
  /// original's dataset.json. From then on it reads the original.
  std::function<void(const std::string& why)> given_up = {};
};

/// A dataset, read-only and memory-mapped. Opening reads dataset.json and the headers of a share of
/// the shards, by default all. With a copy, dataset.json is still the original's. Shards are the
/// copy's as long as each is the user's own file and matches that dataset.json.
/// Errors: input, naming the file and what was expected, for another version, a truncated shard, or
/// a shard that dataset.json does not describe. The first read of any other shard throws the same
/// errors.
/// Thread safety: safe from several threads.
class TokenDataset {
 public:
  explicit TokenDataset(const std::filesystem::path& folder, const ShardSubset& subset = {},
                        DatasetCopy copy = {});
  ~TokenDataset();
  TokenDataset(TokenDataset&&) noexcept;

  const std::filesystem::path& folder() const;
  std::int64_t vocabulary_size() const;
  const std::string& tokenizer_name() const;
  std::uint64_t tokenizer_digest() const;
  /// Returns the token that ends a document, if there is one.
  std::optional<std::int64_t> eos() const;
  /// Returns a digest of the data. The same tokens in the same order have the same digest.
  std::uint64_t content_digest() const;
  SplitInfo split(Split split) const;

  /// Copies tokens [begin, begin + out.size()) of a split, across shards. Verifies the digest of
  /// each 16 MiB block on its first use.
  /// Errors: input, naming shard and block, if a digest differs.
  void read(Split split, std::uint64_t begin, std::span<std::int32_t> out) const;

  /// Announces tokens that will be read soon. The system reads them in; the call does not wait.
  void will_need(Split split, std::uint64_t begin, std::uint64_t count) const;

  /// Copies tokens as labels, which are negative if not a target.
  void read_labels(Split split, std::uint64_t begin, std::span<std::int32_t> out) const;
  /// Returns whether some tokens are not targets.
  bool masks_targets() const;

  /// Writes, for each of a split's tokens [begin, begin + T), where its document starts in this
  /// window. Writes 0 if the document starts before the window. Documents are those of
  /// /document_offsets. A document divided between shards is one document, and the EOS token
  /// belongs to the document that it ends. Verifies a shard's document offsets on first use.
  /// Shapes: first_T.
  /// Errors: input, naming the shard, if the offsets are corrupt, do not ascend, or do not end with
  /// its tokens.
  void document_starts(Split split, std::uint64_t begin, std::span<std::int32_t> first_T) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::data
