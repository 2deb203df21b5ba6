#include "data/build/shard_writer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/numeric/digest.hpp"
#include "base/numeric/integer.hpp"
#include "data/build/block_copier.hpp"
#include "data/read/token_shard.hpp"

namespace dt::data {

namespace {

std::span<const std::byte> bytes_of(const std::uint64_t& value) {
  return std::as_bytes(std::span(&value, 1));
}

constexpr std::size_t max_offsets_held = std::size_t{1} << 16;

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

/// Accepts a shard that an interrupted run has finished. Returns the digest of its block digests if
/// the file is complete, as planned and intact, else none: it must then be written again. Reads the whole
/// file. Adds its tokens' bytes to `all` if it is accepted.
std::optional<std::uint64_t> adopt_finished_shard(const fs::path& path, const ShardPlan& plan,
                                                  const TokenizerIdentity& tokenizer, TokenStorage storage,
                                                  TokenTally& all) {
  const auto shard = open_shard(path);
  if (!shard || !is_as_planned(shard->header(), plan, tokenizer, storage) || !is_intact(*shard))
    return std::nullopt;
  for (std::size_t block = 0; block < shard->num_blocks(); ++block) all.update(shard->block(block));
  return shard->header().digest;
}

}  // namespace

void ShardPlanner::begin_shard_if_full() {
  if (shard_ && shard_->tokens == shard_tokens_) end_shard();
  if (!shard_) shard_ = ShardPlan{split_, 0, 0, 0};
}

void ShardPlanner::end_shard() {
  if (!shard_) return;
  offsets_.update(bytes_of(shard_->tokens));
  shard_->offsets_digest = offsets_.value();
  offsets_.reset();
  plans_.push_back(*shard_);
  shard_.reset();
}

void ShardPlanner::begin_document() {
  begin_shard_if_full();
  offsets_.update(bytes_of(shard_->tokens));
  ++shard_->documents;
}

void ShardPlanner::advance(std::uint64_t tokens) {
  while (tokens > 0) {
    begin_shard_if_full();
    const std::uint64_t count = std::min(tokens, shard_tokens_ - shard_->tokens);
    shard_->tokens += count;
    tokens -= count;
  }
}

std::vector<ShardPlan> ShardPlanner::finish() {
  end_shard();
  return std::move(plans_);
}

ShardWriter::ShardWriter(File file, const ShardPlan& plan, const TokenizerIdentity& tokenizer,
                         TokenStorage storage, BlockCopier& copies)
    : file_(std::move(file)),
      token_bytes_(dtype_bytes(storage.dtype)),
      total_bytes_(plan.tokens * token_bytes_),
      copies_(copies) {
  file_.declare("/tokens", storage.dtype, {plan.tokens});
  file_.declare("/document_offsets", DType::u64, {plan.documents + 1});
  file_.declare("/digests", DType::u64, {ceil_div(total_bytes_, digest_block_bytes)});
  file_.set_attribute("/", "format", std::string(shard_format));
  file_.set_attribute("/", "version", storage.masks_targets ? masked_shard_version : shard_version);
  file_.set_attribute("/", "split", std::string(name_of(plan.split)));
  file_.set_attribute("/", "tokenizer", tokenizer.name);
  file_.set_attribute("/", "tokenizer_digest", to_hex(tokenizer.digest));
  file_.set_attribute("/", "vocabulary_size", std::int64_t{tokenizer.vocabulary_size});
  file_.set_attribute("/", "eos", tokenizer.eos ? std::int64_t{*tokenizer.eos} : -1);
  file_.set_attribute("/", "num_tokens", static_cast<std::int64_t>(plan.tokens));
  file_.set_attribute("/", "num_documents", static_cast<std::int64_t>(plan.documents));
  file_.set_attribute("/", "document_offsets_digest", to_hex(plan.offsets_digest));
  file_.end_declarations();
}

void ShardWriter::begin_document() {
  offsets_.push_back((submitted_bytes_ + block_bytes_) / token_bytes_);
  if (offsets_.size() >= max_offsets_held) flush_offsets();
}

void ShardWriter::append(const FileTokens& tokens) {
  DT_CHECK(tokens.bytes <= room(), "{} bytes of tokens do not fit in the {} bytes left in the shard",
           tokens.bytes, room());
  for (std::uint64_t begin = 0; begin < tokens.bytes;) {
    const std::uint64_t count = std::min(tokens.bytes - begin, digest_block_bytes - block_bytes_);
    add_to_block(tokens.suffix(begin).prefix(count));
    begin += count;
    if (block_bytes_ == digest_block_bytes) submit_block();
  }
}

/// Adds tokens to the block. Documents that are adjacent on disk are read together.
void ShardWriter::add_to_block(const FileTokens& tokens) {
  if (!block_.empty() && block_.back().is_followed_by(tokens)) {
    block_.back().bytes += tokens.bytes;
  } else {
    block_.push_back(tokens);
  }
  block_bytes_ += tokens.bytes;
}

void ShardWriter::submit_block() {
  if (block_bytes_ == 0) return;
  copies_.submit(file_, submitted_bytes_, std::exchange(block_, {}));
  submitted_bytes_ += std::exchange(block_bytes_, 0);
}

void ShardWriter::flush_offsets() {
  file_.write("/document_offsets", written_offsets_ * sizeof(std::uint64_t),
              std::as_bytes(std::span(offsets_)));
  written_offsets_ += offsets_.size();
  offsets_.clear();
}

std::uint64_t ShardWriter::close() {
  DT_CHECK(room() == 0, "{} bytes of tokens are missing from the shard", room());
  submit_block();
  offsets_.push_back(total_bytes_ / token_bytes_);
  flush_offsets();
  const std::vector<std::uint64_t> digests = copies_.finish();
  file_.write("/digests", 0, std::as_bytes(std::span(digests)));
  file_.close();
  return digest(std::as_bytes(std::span(digests)));
}

ShardSeries::ShardSeries(const fs::path& folder, std::vector<ShardPlan> plans, TokenizerIdentity tokenizer,
                         TokenStorage storage, int num_threads)
    : folder_(OwnedFolder::open(folder)),
      plans_(std::move(plans)),
      tokenizer_(std::move(tokenizer)),
      storage_(storage),
      copies_(num_threads, storage.masks_targets) {
  for (const ShardPlan& plan : plans_) room_ += plan.tokens * dtype_bytes(storage.dtype);
}

void ShardSeries::open_next_if_full() {
  if (shard_room() > 0) return;
  close_current();
  DT_CHECK(entries_.size() < plans_.size(), "there are more tokens than the {} planned shards hold",
           plans_.size());
  const ShardPlan& plan = plans_[entries_.size()];
  const std::string name = fmt::format("{}-{:05}.h5", name_of(plan.split), entries_.size());
  entries_.push_back({name, plan.split, plan.tokens, plan.documents, 0, 0});
  const auto finished =
      adopt_finished_shard(folder_.path() / name, plan, tokenizer_, storage_, copies_.tally());
  if (finished) {
    entries_.back().digest = *finished;
    finished_room_ = plan.tokens * dtype_bytes(storage_.dtype);
  } else {
    current_ = std::make_unique<ShardWriter>(folder_.create(name), plan, tokenizer_, storage_, copies_);
  }
}

/// Returns the bytes of tokens left in the present shard, which is being written or already
/// finished.
std::uint64_t ShardSeries::shard_room() const {
  return current_ ? current_->room() : finished_room_;
}

void ShardSeries::close_current() {
  if (entries_.empty()) return;
  ShardEntry& entry = entries_.back();
  if (current_) entry.digest = current_->close();
  entry.bytes = folder_.open_read(entry.file).size();
  current_.reset();
}

void ShardSeries::begin_document() {
  open_next_if_full();
  if (current_) current_->begin_document();
}

void ShardSeries::append(FileTokens tokens) {
  while (tokens.bytes > 0) {
    open_next_if_full();
    const std::uint64_t count = std::min(tokens.bytes, shard_room());
    if (current_) {
      current_->append(tokens.prefix(count));
    } else {
      finished_room_ -= count;
    }
    room_ -= count;
    tokens = tokens.suffix(count);
  }
}

void ShardSeries::finish(Split split, DatasetFile& dataset) {
  close_current();
  DT_CHECK(entries_.size() == plans_.size(), "{} of {} planned shards were written", entries_.size(),
           plans_.size());
  SplitEntry& sum = dataset.split(split);
  sum.digest = copies_.tally().digest();
  sum.targets = copies_.tally().targets();
  for (const ShardEntry& entry : entries_) {
    sum.tokens += entry.tokens;
    sum.documents += entry.documents;
    dataset.shards.push_back(entry);
  }
}

}  // namespace dt::data
