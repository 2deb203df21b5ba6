#pragma once
// dataset.json: the contents of a finished dataset (FORMATS.md, "dataset.json").

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/files.hpp"
#include "base/numeric/digest.hpp"
#include "base/text/enum_names.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// The two parts of a dataset.
enum class Split { train, validation };

inline constexpr std::array all_splits = {Split::train, Split::validation};

/// The names in files.
constexpr auto enum_names(Split) {
  return std::to_array<EnumName<Split>>({{"train", Split::train}, {"validation", Split::validation}});
}

inline constexpr const char* dataset_file_name = "dataset.json";
inline constexpr std::int64_t dataset_version = 1;

struct ShardEntry {
  std::string file;  // file name in the dataset's folder
  Split split = Split::train;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // documents that begin in the shard
  std::uint64_t bytes = 0;      // file's size
  std::uint64_t digest = 0;     // digest of the block digests
};

struct SplitEntry {
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t digest = 0;  // digest of the tokens in order, as shards store them
  /// Number of tokens that models learn to predict. None if all tokens are, and in files of older
  /// versions.
  std::optional<std::uint64_t> targets = {};
};

struct DatasetFile {
  TokenizerIdentity tokenizer;
  std::array<SplitEntry, all_splits.size()> splits;
  std::vector<ShardEntry> shards;  // in the order of their tokens
  std::string made = "{}";         // JSON object that describes how it was made, for people

  const SplitEntry& split(Split which) const { return splits[static_cast<std::size_t>(which)]; }
  SplitEntry& split(Split which) { return splits[static_cast<std::size_t>(which)]; }
  std::uint64_t tokens() const;
  std::uint64_t documents() const;
  /// Returns the sum over splits, or none if the splits have no number.
  std::optional<std::uint64_t> targets() const;
  /// Returns whether a shard is the first of a split that has documents. A document then begins at
  /// its first token.
  bool begins_split(std::size_t shard) const;
  /// Returns a digest of the data. It is equal for the same tokens in the same order, whatever
  /// shards they are in.
  std::uint64_t content_digest() const;
};

/// Returns dataset.json as one line of JSON, or indented.
std::string to_json(const DatasetFile& dataset, bool indented);
void write_dataset_file(const fs::path& folder, const DatasetFile& dataset);
/// Reads dataset.json.
/// Errors: input, naming the file, if it is missing, is no dataset.json of this version, or
/// contradicts itself.
DatasetFile read_dataset_file(const fs::path& folder);

/// Totals over a split's tokens. Digests stored tokens in order, and counts the targets if some tokens
/// are not targets.
class TokenTally {
 public:
  explicit TokenTally(bool masks_targets);
  TokenTally(const TokenTally&) = delete;
  /// Adds whole tokens in the format of shards.
  void update(std::span<const std::byte> tokens);
  std::uint64_t digest() const { return digester_.value(); }
  /// Returns the number of targets, or none if all tokens are targets.
  std::optional<std::uint64_t> targets() const { return targets_; }

 private:
  Digester digester_;
  std::optional<std::uint64_t> targets_;
};

}  // namespace dt::data
