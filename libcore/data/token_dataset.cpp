#include "data/token_dataset.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
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

/// What a range of a split's tokens takes from one shard: its tokens [begin, begin + count), which are those
/// of the range from `position` on.
struct Part {
  const Shard& shard;
  std::uint64_t begin;
  std::uint64_t position;
  std::uint64_t count;
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

  /// Calls use(part) for each shard's part of the split's tokens [begin, begin + total), in their order.
  template <class Use>
  void for_each_part(Split split, std::uint64_t begin, std::uint64_t total, Use use) const {
    const std::uint64_t tokens = file.split(split).tokens;
    DT_CHECK(begin <= tokens && total <= tokens - begin, "tokens {} to {} of the {} split, which has {}",
             begin, begin + total, split_name(split), tokens);
    const Sequence& sequence = sequences[static_cast<std::size_t>(split)];
    auto end = std::upper_bound(sequence.ends.begin(), sequence.ends.end(), begin);
    for (std::uint64_t position = 0; position < total; ++end) {
      const Shard& shard = sequence.shards[static_cast<std::size_t>(end - sequence.ends.begin())];
      const std::uint64_t shard_begin = *end - shard.header().tokens;
      const std::uint64_t count = std::min(total - position, *end - (begin + position));
      use(Part{shard, begin + position - shard_begin, position, count});
      position += count;
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

std::uint64_t TokenDataset::tokenizer_digest() const {
  return state_->file.tokenizer.digest;
}

std::uint64_t TokenDataset::content_digest() const {
  return state_->file.content_digest();
}

SplitInfo TokenDataset::split(Split split) const {
  const SplitEntry& entry = state_->file.split(split);
  return {entry.tokens, entry.documents};
}

void TokenDataset::read(Split split, std::uint64_t begin, std::span<std::int32_t> out) const {
  state_->for_each_part(split, begin, out.size(), [&](const Part& part) {
    part.shard.read(part.begin, out.subspan(part.position, part.count));
  });
}

void TokenDataset::read_labels(Split split, std::uint64_t begin, std::span<std::int32_t> out) const {
  state_->for_each_part(split, begin, out.size(), [&](const Part& part) {
    part.shard.read_labels(part.begin, out.subspan(part.position, part.count));
  });
}

bool TokenDataset::masks_targets() const {
  const auto masks = [](const Shard& shard) { return shard.header().masks_targets; };
  return std::ranges::any_of(state_->sequences,
                             [&](const Sequence& s) { return std::ranges::any_of(s.shards, masks); });
}

void TokenDataset::will_need(Split split, std::uint64_t begin, std::uint64_t count) const {
  state_->for_each_part(split, begin, count,
                        [&](const Part& part) { part.shard.will_need(part.begin, part.begin + part.count); });
}

void TokenDataset::document_starts(Split split, std::uint64_t begin, std::span<std::int32_t> first_T) const {
  DT_CHECK(first_T.size() <= std::numeric_limits<std::int32_t>::max(), "a window of {} tokens",
           first_T.size());
  std::fill(first_T.begin(), first_T.end(), 0);
  state_->for_each_part(split, begin, first_T.size(), [&](const Part& part) {
    for (const std::uint64_t start : part.shard.document_starts(part.begin, part.begin + part.count)) {
      const std::uint64_t t = part.position + (start - part.begin);
      first_T[t] = static_cast<std::int32_t>(t);
    }
  });
  // A document goes on until the next one begins.
  std::inclusive_scan(first_T.begin(), first_T.end(), first_T.begin(),
                      [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
}

}  // namespace dt::data
