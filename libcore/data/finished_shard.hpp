#pragma once
// Shards that an interrupted run has finished.

#include <optional>

#include "data/shard_writer.hpp"

namespace dt::data {

/// Whether the file is there, whole, as planned, and intact: reads all of it. Then the bytes of its tokens go
/// to `all`. The digest of its block digests; nothing where it must be written anew.
std::optional<std::uint64_t> take_finished_shard(const fs::path& path, const ShardPlan& plan,
                                                 const TokenizerInfo& tokenizer, TokenStorage storage,
                                                 TokenTally& all);

}  // namespace dt::data
