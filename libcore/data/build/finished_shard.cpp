#include "data/build/finished_shard.hpp"

#include "base/error.hpp"
#include "data/read/token_shard.hpp"

namespace dt::data {

namespace {

/// Opens a shard, or returns none if it is missing or damaged. A shard whose writing was
/// interrupted cannot be opened.
std::optional<TokenShard> open_shard(const fs::path& path) {
  if (!path_exists(path)) return std::nullopt;
  try {
    return TokenShard(path);
  } catch (const Error& error) {
    if (!error.indicates_corruption()) throw;
    return std::nullopt;
  }
}

bool is_as_planned(const TokenShardHeader& header, const ShardPlan& plan, const TokenizerIdentity& tokenizer,
                   TokenStorage storage) {
  return header.split == plan.split && header.tokens == plan.tokens && header.documents == plan.documents &&
         header.tokenizer == tokenizer && header.dtype == storage.dtype &&
         header.masks_targets == storage.masks_targets;
}

bool is_intact(const TokenShard& shard) {
  for (std::size_t block = 0; block < shard.num_blocks(); ++block) {
    if (!shard.block_problem(block).empty()) return false;
  }
  return shard.document_offsets_problem().empty();
}

}  // namespace

std::optional<std::uint64_t> adopt_finished_shard(const fs::path& path, const ShardPlan& plan,
                                                  const TokenizerIdentity& tokenizer, TokenStorage storage,
                                                  TokenTally& all) {
  const auto shard = open_shard(path);
  if (!shard || !is_as_planned(shard->header(), plan, tokenizer, storage) || !is_intact(*shard))
    return std::nullopt;
  for (std::size_t block = 0; block < shard->num_blocks(); ++block) all.update(shard->block(block));
  return shard->header().digest;
}

}  // namespace dt::data
