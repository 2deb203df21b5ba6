#pragma once
// A finished dataset: dataset.json and its HDF5 token shards, read as one long sequence of tokens per split.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "data/split.hpp"

namespace dt::data {

struct SplitInfo {
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
};

/// Of `count` that open the same dataset, each looks at the shards of its own place among them at once, and
/// at others when it first reads them: opening a shard is slow, and there may be thousands of both.
struct ShardShare {
  std::size_t index = 0;
  std::size_t count = 1;
};

/// A copy whose shards are read in place of the original's; see data/staging.hpp.
struct DatasetCopy {
  std::filesystem::path folder = {};  // empty: there is no copy
  /// Called at most once, from any thread, when the copy turns out not to hold what dataset.json of the
  /// original says. From then on the original is read.
  std::function<void(const std::string& why)> given_up = {};
};

/// Read-only, memory-mapped, safe from several threads. Opening reads dataset.json and the headers of a share
/// of the shards, by default all. With a copy, dataset.json is the original's all the same, and shards are
/// the copy's as long as each is the user's own file and holds what that dataset.json says. Errors, also of
/// the first read of other shards: input, naming file and what was expected (another version, a truncated
/// shard, a shard that dataset.json does not describe).
class TokenDataset {
 public:
  explicit TokenDataset(const std::filesystem::path& folder, const ShardShare& share = {},
                        DatasetCopy copy = {});
  ~TokenDataset();
  TokenDataset(TokenDataset&&) noexcept;

  const std::filesystem::path& folder() const;
  std::int64_t vocabulary_size() const;
  const std::string& tokenizer_name() const;
  std::uint64_t tokenizer_digest() const;
  /// The token that ends a document, where one does.
  std::optional<std::int64_t> eos() const;
  /// Identifies the data: the same tokens in the same order have the same digest.
  std::uint64_t content_digest() const;
  SplitInfo split(Split split) const;

  /// Copies tokens [begin, begin + out.size()) of a split, across shards. Verifies the digest of each 16 MiB
  /// block when it is first touched. Errors: input, naming shard and block, where the digest differs.
  void read(Split split, std::uint64_t begin, std::span<std::int32_t> out) const;

  /// Tokens that will be read soon: the system reads them in, and this does not wait for it.
  void will_need(Split split, std::uint64_t begin, std::uint64_t count) const;

  /// The same as labels: negative where a token is no target.
  void read_labels(Split split, std::uint64_t begin, std::span<std::int32_t> out) const;
  /// Whether some tokens are none.
  bool masks_targets() const;

  /// For each of the tokens [begin, begin + T) of a split: where in this window the document that it belongs
  /// to begins, 0 where that is before the window. Documents are those of /document_offsets, so one that
  /// shards cut is one document, and the EOS token belongs to the document that it ends. Shape: first_T.
  /// Verifies a shard's document offsets when it is first asked for any. Errors: input, naming the shard,
  /// where they are corrupt, do not ascend, or do not end with its tokens.
  void document_starts(Split split, std::uint64_t begin, std::span<std::int32_t> first_T) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dt::data
