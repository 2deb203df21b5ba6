#include "data/read/token_dataset.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fcntl.h>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/io/open_at.hpp"
#include "data/read/dataset_file.hpp"
#include "data/read/token_shard.hpp"

namespace dt::data {

namespace {

/// Checks that the file is the user's own: another user may have replaced the copy.
/// Errors: environment if it is not.
void require_own_file(const fs::path& path) {
  const File folder = File::adopt(open_parent(path, "open"), path.parent_path());
  File::adopt(open_file_at(folder.descriptor(), path.filename(), path, O_RDONLY, Owner::self), path);
}

/// A shard that its first user opens.
class LazyShard {
 public:
  template <class Open>
  const TokenShard& get(Open open) const {
    std::call_once(is_open_, [&] { shard_.emplace(open()); });
    return *shard_;
  }

 private:
  mutable std::once_flag is_open_;
  mutable std::optional<TokenShard> shard_;
};

struct Sequence {
  std::vector<std::size_t> shards;  // index among all shards of the dataset
  std::vector<std::uint64_t> ends;  // end of each, in the split's tokens
};

/// One shard's part of a range of a split's tokens: the shard's tokens [begin, begin + count),
/// which begin at `position` of the range.
struct ShardTokens {
  const TokenShard& shard;
  std::uint64_t begin;
  std::uint64_t position;
  std::uint64_t count;
  bool begins_split;  // as DatasetFile::begins_split
};

}  // namespace

struct TokenDataset::State {
  fs::path folder;
  DatasetCopy copy;
  DatasetFile file;
  std::vector<LazyShard> shards;         // shards of the original
  std::vector<LazyShard> copied_shards;  // empty without a copy
  mutable std::atomic<bool> reads_copy;
  std::array<Sequence, all_splits.size()> sequences;
  bool masks_targets = false;

  State(const fs::path& path, const ShardSubset& subset, DatasetCopy read_from)
      : folder(path),
        copy(std::move(read_from)),
        file(read_dataset_file(path)),
        shards(file.shards.size()),
        copied_shards(copy.folder.empty() ? 0 : shards.size()),
        reads_copy(!copied_shards.empty()) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const ShardEntry& entry = file.shards[i];
      Sequence& sequence = sequences[static_cast<std::size_t>(entry.split)];
      sequence.ends.push_back(entry.tokens + (sequence.ends.empty() ? 0 : sequence.ends.back()));
      sequence.shards.push_back(i);
      if (i == 0)
        use_shard(0, [&](const TokenShard& shard) { masks_targets = shard.header().masks_targets; });
      if (i % subset.count == subset.index) use_shard(i, [](const TokenShard&) {});
    }
  }

  /// Calls use(shard) with the copy's shard, and again with the original's if the copy's fails.
  template <class Use>
  void use_shard(std::size_t index, Use use) const {
    if (reads_copy.load(std::memory_order_relaxed)) {
      try {
        return use(copied_shards[index].get([&] { return open_copied(index); }));
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::internal) throw;
        if (reads_copy.exchange(false) && copy.given_up) copy.given_up(error.message());
      }
    }
    use(shards[index].get([&] { return open(folder, index); }));
  }

  TokenShard open(const fs::path& from, std::size_t index) const {
    TokenShard shard(from / file.shards[index].file);
    shard.check_against(file.shards[index], file.tokenizer);
    if (index == 0 || shard.header().masks_targets == masks_targets) return shard;
    throw input_error("{}: {} of its tokens are excluded from the loss, unlike in {}", shard.path().string(),
                      masks_targets ? "none" : "some", file.shards[0].file);
  }

  TokenShard open_copied(std::size_t index) const {
    require_own_file(copy.folder / file.shards[index].file);
    return open(copy.folder, index);
  }

  /// Calls use(part) for each shard's part of the split's tokens [begin, begin + total), in order.
  /// Calls it twice for a part if the copy fails.
  template <class Use>
  void for_each_shard(Split split, std::uint64_t begin, std::uint64_t total, Use use) const {
    const std::uint64_t tokens = file.split(split).tokens;
    DT_CHECK(begin <= tokens && total <= tokens - begin,
             "tokens {} to {} are outside the {} split, which has {} tokens", begin, begin + total,
             name_of(split), tokens);
    const Sequence& sequence = sequences[static_cast<std::size_t>(split)];
    auto end = std::upper_bound(sequence.ends.begin(), sequence.ends.end(), begin);
    for (std::uint64_t position = 0; position < total; ++end) {
      const std::size_t index = sequence.shards[static_cast<std::size_t>(end - sequence.ends.begin())];
      const std::uint64_t shard_begin = *end - file.shards[index].tokens;
      const std::uint64_t count = std::min(total - position, *end - (begin + position));
      use_shard(index, [&](const TokenShard& shard) {
        use(ShardTokens{shard, begin + position - shard_begin, position, count,
                        index == sequence.shards.front() && file.split(split).documents > 0});
      });
      position += count;
    }
  }
};

TokenDataset::TokenDataset(const std::filesystem::path& folder, const ShardSubset& subset, DatasetCopy copy)
    : state_(std::make_unique<State>(folder, subset, std::move(copy))) {}
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

std::optional<std::int64_t> TokenDataset::eos() const {
  return state_->file.tokenizer.eos;
}

std::uint64_t TokenDataset::content_digest() const {
  return state_->file.content_digest();
}

SplitInfo TokenDataset::split(Split split) const {
  const SplitEntry& entry = state_->file.split(split);
  return {entry.tokens, entry.documents};
}

void TokenDataset::read(Split split, std::uint64_t begin, std::span<std::int32_t> out) const {
  state_->for_each_shard(split, begin, out.size(), [&](const ShardTokens& part) {
    part.shard.read(part.begin, out.subspan(part.position, part.count));
  });
}

void TokenDataset::read_labels(Split split, std::uint64_t begin, std::span<std::int32_t> out) const {
  state_->for_each_shard(split, begin, out.size(), [&](const ShardTokens& part) {
    part.shard.read_labels(part.begin, out.subspan(part.position, part.count));
  });
}

bool TokenDataset::masks_targets() const {
  return state_->masks_targets;
}

void TokenDataset::will_need(Split split, std::uint64_t begin, std::uint64_t count) const {
  state_->for_each_shard(split, begin, count, [&](const ShardTokens& part) {
    part.shard.will_need(part.begin, part.begin + part.count);
  });
}

void TokenDataset::document_starts(Split split, std::uint64_t begin, std::span<std::int32_t> first_T) const {
  DT_CHECK(first_T.size() <= std::numeric_limits<std::int32_t>::max(), "a window of {} tokens is too large",
           first_T.size());
  std::fill(first_T.begin(), first_T.end(), 0);
  state_->for_each_shard(split, begin, first_T.size(), [&](const ShardTokens& part) {
    for (const std::uint64_t start : part.shard.document_starts(part.begin, part.begin + part.count)) {
      const std::uint64_t t = part.position + (start - part.begin);
      first_T[t] = static_cast<std::int32_t>(t);
    }
    if (part.begins_split) part.shard.check_begins_split();
  });
  // A document continues until the next one begins.
  std::inclusive_scan(first_T.begin(), first_T.end(), first_T.begin(),
                      [](std::int32_t a, std::int32_t b) { return std::max(a, b); });
}

}  // namespace dt::data
