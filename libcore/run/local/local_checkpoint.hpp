#pragma once
// Local checkpoints that the nodes of a job hold together.

#include <span>
#include <string>
#include <vector>

#include "run/local/local_store.hpp"

namespace dt::run {

/// A local checkpoint, as far as nodes hold it.
struct LocalCheckpoint {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::string header_text;                // header text of its shards; "" if no node has one
  std::vector<std::vector<int>> holders;  // for each writer, the nodes that hold its files, ascending

  /// Returns "" if every writer has a holder, else what is missing.
  std::string why_incomplete() const;
};

/// Describe a node's shards as text, and unite the texts of all nodes into local checkpoints,
/// newest first. A node's text may be "", which means no shards.
std::string describe_shards(std::span<const LocalShard> shards);
std::vector<LocalCheckpoint> merge_shards(std::span<const std::string> by_node);

/// Convert a local checkpoint to a text without NUL, and back.
std::string to_text(const LocalCheckpoint& checkpoint);
LocalCheckpoint parse_local_checkpoint(const std::string& text);

}  // namespace dt::run
