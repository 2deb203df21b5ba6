#pragma once
// Finds shards that an interrupted run has finished.

#include <optional>

#include "data/build/shard_writer.hpp"

namespace dt::data {

/// Returns the digest of the shard's block digests if the file is complete, as planned and intact,
/// else none: the shard must then be written again. Reads the whole file. Adds its tokens' bytes to
/// `all` if it is accepted.
std::optional<std::uint64_t> adopt_finished_shard(const fs::path& path, const ShardPlan& plan,
                                                  const TokenizerIdentity& tokenizer, TokenStorage storage,
                                                  TokenTally& all);

}  // namespace dt::data
