#pragma once
// dataset.json: what a finished dataset consists of (FORMATS.md, "dataset.json").

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "data/split.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

inline constexpr const char* dataset_file_name = "dataset.json";
inline constexpr std::int64_t dataset_version = 1;

struct ShardEntry {
  std::string file;  // its name in the dataset's folder
  Split split = Split::train;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // that begin in it
  std::uint64_t bytes = 0;      // of the file
  std::uint64_t digest = 0;     // of its block digests
};

struct SplitEntry {
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t digest = 0;  // of its tokens in order, as the shards store them
  /// Tokens that models learn to predict; nothing where all are, and in what older versions made.
  std::optional<std::uint64_t> targets = {};
};

struct DatasetFile {
  TokenizerInfo tokenizer;
  std::array<SplitEntry, all_splits.size()> splits;
  std::vector<ShardEntry> shards;  // in the order of their tokens
  std::string made = "{}";         // how: a JSON object, for people

  const SplitEntry& split(Split which) const { return splits[static_cast<std::size_t>(which)]; }
  SplitEntry& split(Split which) { return splits[static_cast<std::size_t>(which)]; }
  std::uint64_t tokens() const;
  std::uint64_t documents() const;
  /// The sum over splits; nothing where they do not say.
  std::optional<std::uint64_t> targets() const;
  /// Returns whether a shard is the first of a split that has documents, so that one begins with its first
  /// token.
  bool begins_split(std::size_t shard) const;
  /// Identifies the data: equal for the same tokens in the same order, however they are cut into shards.
  std::uint64_t content_digest() const;
};

/// One line of JSON, or indented.
std::string to_json(const DatasetFile& dataset, bool indented);
void write_dataset_file(const fs::path& folder, const DatasetFile& dataset);
/// Errors: input, naming the file, where it is missing, no dataset.json of this version, or contradicts
/// itself.
DatasetFile read_dataset_file(const fs::path& folder);

}  // namespace dt::data
