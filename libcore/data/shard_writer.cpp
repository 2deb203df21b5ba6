#include "data/shard_writer.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr std::size_t max_offsets_held = std::size_t{1} << 16;

std::span<const std::byte> bytes_of(const std::uint64_t& value) {
  return std::as_bytes(std::span(&value, 1));
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

ShardWriter::ShardWriter(const fs::path& path, const ShardPlan& plan, const TokenizerInfo& tokenizer,
                         TokenStorage storage, std::launch writing)
    : file_(path),
      token_bytes_(dtype_bytes(storage.dtype)),
      total_bytes_(plan.tokens * token_bytes_),
      writing_(writing) {
  file_.declare("/tokens", storage.dtype, {plan.tokens});
  file_.declare("/document_offsets", DType::u64, {plan.documents + 1});
  file_.declare("/digests", DType::u64, {(total_bytes_ + digest_block_bytes - 1) / digest_block_bytes});
  file_.attribute("/", "format", std::string(shard_format));
  file_.attribute("/", "version", storage.masks_targets ? masked_shard_version : shard_version);
  file_.attribute("/", "split", std::string(split_name(plan.split)));
  file_.attribute("/", "tokenizer", tokenizer.name);
  file_.attribute("/", "tokenizer_digest", to_hex(tokenizer.digest));
  file_.attribute("/", "vocabulary_size", std::int64_t{tokenizer.vocabulary_size});
  file_.attribute("/", "eos", std::int64_t{tokenizer.eos});
  file_.attribute("/", "num_tokens", static_cast<std::int64_t>(plan.tokens));
  file_.attribute("/", "num_documents", static_cast<std::int64_t>(plan.documents));
  file_.attribute("/", "document_offsets_digest", to_hex(plan.offsets_digest));
  file_.layout();
  block_.reserve(std::min<std::uint64_t>(digest_block_bytes, total_bytes_));
}

void ShardWriter::begin_document() {
  offsets_.push_back((written_bytes_ + block_.size()) / token_bytes_);
  if (offsets_.size() >= max_offsets_held) flush_offsets();
}

void ShardWriter::append(std::span<const std::byte> tokens) {
  DT_CHECK(tokens.size() <= room(), "{} bytes of tokens for {} of room", tokens.size(), room());
  while (!tokens.empty()) {
    const auto part = tokens.first(std::min(tokens.size(), digest_block_bytes - block_.size()));
    block_.insert(block_.end(), part.begin(), part.end());
    tokens = tokens.subspan(part.size());
    if (block_.size() == digest_block_bytes) flush_block();
  }
}

void ShardWriter::flush_block() {
  if (block_.empty()) return;
  wait_for_block();
  block_.swap(written_block_);
  block_.clear();
  block_.reserve(written_block_.size());
  block_write_ = std::async(writing_, [this, offset = written_bytes_] {
    digests_.push_back(digest(written_block_));
    file_.write("/tokens", offset, written_block_);
  });
  written_bytes_ += written_block_.size();
}

void ShardWriter::wait_for_block() {
  if (block_write_.valid()) block_write_.get();
}

void ShardWriter::flush_offsets() {
  wait_for_block();
  file_.write("/document_offsets", written_offsets_ * sizeof(std::uint64_t),
              std::as_bytes(std::span(offsets_)));
  written_offsets_ += offsets_.size();
  offsets_.clear();
}

std::uint64_t ShardWriter::close() {
  DT_CHECK(room() == 0, "{} bytes of tokens are missing", room());
  flush_block();
  offsets_.push_back(total_bytes_ / token_bytes_);
  flush_offsets();
  file_.write("/digests", 0, std::as_bytes(std::span(digests_)));
  file_.close();
  return digest(std::as_bytes(std::span(digests_)));
}

ShardSeries::ShardSeries(fs::path folder, std::vector<ShardPlan> plans, TokenizerInfo tokenizer,
                         TokenStorage storage, std::launch writing)
    : folder_(std::move(folder)),
      plans_(std::move(plans)),
      tokenizer_(std::move(tokenizer)),
      storage_(storage),
      writing_(writing) {
  for (const ShardPlan& plan : plans_) room_ += plan.tokens * dtype_bytes(storage.dtype);
}

void ShardSeries::open_next_if_full() {
  if (current_ && current_->room() > 0) return;
  close_current();
  DT_CHECK(entries_.size() < plans_.size(), "more tokens than the {} planned shards hold", plans_.size());
  const ShardPlan& plan = plans_[entries_.size()];
  const std::string name = fmt::format("{}-{:05}.h5", split_name(plan.split), entries_.size());
  entries_.push_back({name, plan.split, plan.tokens, plan.documents, 0, 0});
  current_ = std::make_unique<ShardWriter>(folder_ / name, plan, tokenizer_, storage_, writing_);
}

void ShardSeries::close_current() {
  if (!current_) return;
  ShardEntry& entry = entries_.back();
  entry.digest = current_->close();
  entry.bytes = File::open_read(folder_ / entry.file).size();
  current_.reset();
}

void ShardSeries::begin_document() {
  open_next_if_full();
  current_->begin_document();
}

void ShardSeries::append(std::span<const std::byte> tokens) {
  while (!tokens.empty()) {
    open_next_if_full();
    const auto part = tokens.first(std::min<std::uint64_t>(tokens.size(), current_->room()));
    current_->append(part);
    digester_.update(part);
    room_ -= part.size();
    tokens = tokens.subspan(part.size());
  }
}

void ShardSeries::finish(Split split, DatasetFile& dataset) {
  close_current();
  DT_CHECK(entries_.size() == plans_.size(), "{} shards of {} planned", entries_.size(), plans_.size());
  SplitEntry& sum = dataset.split(split);
  sum.digest = digester_.value();
  for (const ShardEntry& entry : entries_) {
    sum.tokens += entry.tokens;
    sum.documents += entry.documents;
    dataset.shards.push_back(entry);
  }
}

}  // namespace dt::data
