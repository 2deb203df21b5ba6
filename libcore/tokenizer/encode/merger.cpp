#include "tokenizer/encode/merger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::tokenizer {

namespace {

/// Number of tokens up to which a scan of all ranks for the smallest is fastest.
constexpr std::size_t few = 24;
constexpr std::uint32_t window_symbols = 256;
/// A window of fewer tokens saves less than the check that it fits costs.
constexpr std::size_t few_tokens = 16;

}  // namespace

void Merger::merge(std::span<const Id> symbols, std::vector<Id>& ids) {
  const bool is_long = symbols.size() > window_symbols;
  if (is_long) {
    merge_long(symbols);
  } else {
    merge_window(symbols, 0, window_);
  }
  for (const Symbol& part : is_long ? done_ : window_) ids.push_back(part.id);
}

void Merger::merge_window(std::span<const Id> symbols, std::uint32_t offset, Symbols& parts) {
  parts.resize(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const Merge merge = i + 1 < symbols.size() ? table_.find(symbols[i], symbols[i + 1]) : Merge{};
    parts[i] = {symbols[i], offset + static_cast<std::uint32_t>(i), merge.rank, merge.merged};
  }
  if (parts.size() <= few) {
    merge_few(parts);
  } else {
    merge_many(parts);
  }
}

void Merger::merge_few(Symbols& parts) {
  const auto set = [&](std::size_t i) {
    const Merge merge = i + 1 < parts.size() ? find(parts[i], parts[i + 1]) : Merge{};
    parts[i].rank = merge.rank;
    parts[i].merged = merge.merged;
  };
  while (parts.size() > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < parts.size(); ++i) best = parts[i].rank < parts[best].rank ? i : best;
    if (parts[best].rank == no_rank) return;
    parts[best].id = parts[best].merged;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    set(best);
    if (best > 0) set(best - 1);
  }
}

/// Merges as merge_few() does, with the ranks in a tree and the neighbours in a list. Nothing is
/// scanned or moved.
void Merger::merge_many(Symbols& parts) {
  const auto size = static_cast<std::uint32_t>(parts.size());
  link(size);
  const auto value = [&](std::uint32_t i) {
    return parts[i].rank == no_rank ? MinTree::nothing : std::uint64_t{parts[i].rank} << 32 | i;
  };
  const auto update = [&](std::uint32_t i) {
    const Merge merge = next_[i] < size ? find(parts[i], parts[next_[i]]) : Merge{};
    parts[i].rank = merge.rank;
    parts[i].merged = merge.merged;
    tree_.set(i, value(i));
  };
  tree_.reset(size);
  for (std::uint32_t i = 0; i < size; ++i) tree_.put(i, value(i));
  tree_.build();
  for (std::uint64_t best = tree_.smallest(); best != MinTree::nothing; best = tree_.smallest()) {
    const auto i = static_cast<std::uint32_t>(best);
    parts[i].id = parts[i].merged;
    tree_.set(next_[i], MinTree::nothing);
    unlink(next_[i], parts);
    update(i);
    if (i > 0) update(previous_[i]);
  }
  std::erase_if(parts, [](const Symbol& part) { return part.id == no_id; });
}

void Merger::link(std::uint32_t size) {
  next_.resize(size);
  previous_.resize(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    next_[i] = i + 1;
    previous_[i] = i - 1;
  }
}

/// Removes a part that is not the first.
void Merger::unlink(std::uint32_t i, Symbols& parts) {
  parts[i].id = no_id;
  next_[previous_[i]] = next_[i];
  if (next_[i] < parts.size()) previous_[next_[i]] = previous_[i];
}

/// Encodes a long piece by windows.
/// `done_` holds the first tokens of the piece, which are likely to stand. A window begins where they
/// end. If its first token does not fit the last of them, more tokens are taken back each time. The
/// window becomes longer, too, at last all of the piece. Only progress beyond the furthest point so far
/// makes windows shorter again, so the loop ends.
void Merger::merge_long(std::span<const Id> symbols) {
  DT_CHECK(symbols.size() < no_id, "a piece has {} symbols, too many", symbols.size());
  const auto size = static_cast<std::uint32_t>(symbols.size());
  done_.clear();
  std::uint32_t begin = 0, furthest = 0, length = window_symbols;
  std::size_t back = 1;
  while (begin < size) {
    const std::uint32_t end = begin + std::min(size - begin, length);
    merge_window(symbols.subspan(begin, end - begin), begin, window_);
    if (follows_done(symbols, end)) {
      begin = end == size ? end : drop_tail(end, end - (end - begin) / 16);
      done_.insert(done_.end(), window_.begin(), window_.end());
    } else {
      begin = drop_done(back);
      back *= 2;
    }
    const bool is_further = begin > furthest;
    furthest = std::max(begin, furthest);
    back = is_further ? 1 : back;
    const bool is_short = !is_further || window_.size() < few_tokens;
    length = is_short ? std::min(size, length * 2) : std::max(window_symbols, length / 2);
  }
}

/// Drops the window's tokens that end after `stands`, since the text behind the window may change them.
/// Returns where the others end.
std::uint32_t Merger::drop_tail(std::uint32_t end, std::uint32_t stands) {
  while (!window_.empty() && end > stands) {
    end = window_.back().begin;
    window_.pop_back();
  }
  return end;
}

/// Drops up to `count` tokens of `done_`, which is not empty. Returns where the others end.
std::uint32_t Merger::drop_done(std::size_t count) {
  const std::size_t kept = done_.size() - std::min(count, done_.size());
  const std::uint32_t begin = done_[kept].begin;
  done_.resize(kept);
  return begin;
}

/// Returns whether the last token of `done_` and the window's first token are the encoding of their
/// text.
bool Merger::follows_done(std::span<const Id> symbols, std::uint32_t window_end) {
  if (done_.empty()) return true;
  const std::uint32_t begin = done_.back().begin, border = window_.front().begin;
  const std::uint32_t end = window_.size() > 1 ? window_[1].begin : window_end;
  merge_window(symbols.subspan(begin, end - begin), begin, pair_);
  return pair_.size() == 2 && pair_[1].begin == border;
}

}  // namespace dt::tokenizer
