#include "data/token_dataset.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "data/dataset_file.hpp"
#include "data/shard.hpp"

namespace dt::data {

namespace {

struct Sequence {
  std::vector<Shard> shards;
  std::vector<std::uint64_t> ends;  // of each shard, in the split's tokens
};

}  // namespace

struct TokenDataset::State {
  fs::path folder;
  DatasetFile file;
  std::array<Sequence, all_splits.size()> sequences;

  explicit State(const fs::path& path) : folder(path), file(read_dataset_file(path)) {
    for (const ShardEntry& entry : file.shards) {
      Shard shard(folder / entry.file);
      shard.check_against(entry, file.tokenizer);
      Sequence& sequence = sequences[static_cast<std::size_t>(entry.split)];
      sequence.ends.push_back(entry.tokens + (sequence.ends.empty() ? 0 : sequence.ends.back()));
      sequence.shards.push_back(std::move(shard));
    }
  }
};

TokenDataset::TokenDataset(const std::filesystem::path& folder) : state_(std::make_unique<State>(folder)) {}
TokenDataset::~TokenDataset() = default;
TokenDataset::TokenDataset(TokenDataset&&) noexcept = default;

const std::filesystem::path& TokenDataset::folder() const {
  return state_->folder;
}

std::int64_t TokenDataset::vocabulary_size() const {
  return state_->file.tokenizer.vocabulary_size;
}

const std::string& TokenDataset::tokenizer_name() const {
  return state_->file.tokenizer.name;
}

std::uint64_t TokenDataset::content_digest() const {
  return state_->file.content_digest();
}

SplitInfo TokenDataset::split(Split split) const {
  const SplitEntry& entry = state_->file.split(split);
  return {entry.tokens, entry.documents};
}

void TokenDataset::read(Split split, std::uint64_t begin, std::span<std::int32_t> out) const {
  const std::uint64_t tokens = state_->file.split(split).tokens;
  DT_CHECK(begin <= tokens && out.size() <= tokens - begin, "tokens {} to {} of the {} split, which has {}",
           begin, begin + out.size(), split_name(split), tokens);
  const Sequence& sequence = state_->sequences[static_cast<std::size_t>(split)];
  auto end = std::upper_bound(sequence.ends.begin(), sequence.ends.end(), begin);
  for (; !out.empty(); ++end) {
    const Shard& shard = sequence.shards[static_cast<std::size_t>(end - sequence.ends.begin())];
    const std::uint64_t offset = begin - (*end - shard.header().tokens);
    const auto part = out.first(std::min<std::uint64_t>(out.size(), *end - begin));
    shard.read(offset, part);
    begin += part.size();
    out = out.subspan(part.size());
  }
}

}  // namespace dt::data
