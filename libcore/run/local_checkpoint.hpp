#pragma once
// Which local checkpoints the nodes of a job hold together.

#include <span>
#include <string>
#include <vector>

#include "run/local_store.hpp"

namespace dt::run {

/// A local checkpoint, as far as nodes hold it.
struct LocalCheckpoint {
  std::int64_t step = 0;
  std::int64_t generation = 0;
  std::string header_text;                // of its shares; "" where no node has one
  std::vector<std::vector<int>> holders;  // of each writer: the nodes that hold what it wrote, ascending

  /// "" where every writer has a holder, else what is missing.
  std::string why_incomplete() const;
};

/// What a node says of its shares, and what many say together, one text a node ("": none), newest first.
std::string describe_shares(std::span<const LocalShare> shares);
std::vector<LocalCheckpoint> unite_shares(std::span<const std::string> by_node);

/// One as a text without a NUL, and back.
std::string to_text(const LocalCheckpoint& checkpoint);
LocalCheckpoint parse_local_checkpoint(const std::string& text);

}  // namespace dt::run
