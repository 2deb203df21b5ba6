#include "tokenizer/merger.hpp"

#include <algorithm>

namespace dt::tokenizer {

namespace {

/// Up to here looking at all ranks for the smallest is faster than a heap.
constexpr std::size_t few = 128;
constexpr std::uint32_t window_symbols = few;

}  // namespace

void Merger::merge(std::span<const Id> symbols, std::vector<Id>& ids) {
  const bool is_long = symbols.size() > window_symbols;
  if (is_long) {
    merge_long(symbols);
  } else {
    merge_window(symbols, 0, window_);
  }
  for (const Part& part : is_long ? done_ : window_) ids.push_back(part.id);
}

void Merger::merge_window(std::span<const Id> symbols, std::uint32_t offset, Parts& parts) {
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

void Merger::merge_few(Parts& parts) {
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

/// The same by a heap of candidates over a list of neighbours. A candidate whose tokens are no longer there
/// is passed over.
void Merger::merge_many(Parts& parts) {
  const auto size = static_cast<std::uint32_t>(parts.size());
  next_.resize(size);
  previous_.resize(size);
  heap_.clear();
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  };
  const auto offer = [&](std::uint32_t i) {
    if (next_[i] == size) return;
    const Merge merge = find(parts[i], parts[next_[i]]);
    if (merge.rank == no_rank) return;
    parts[i].merged = merge.merged;
    heap_.push_back({merge.rank, i, parts[i].id, parts[next_[i]].id});
    std::push_heap(heap_.begin(), heap_.end(), later);
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    next_[i] = i + 1;
    previous_[i] = i - 1;
    parts[i].rank = 0;  // it is still there
  }
  for (std::uint32_t i = 0; i < size; ++i) offer(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    Part& left = parts[best.place];
    const std::uint32_t gone = next_[best.place];
    if (left.rank == no_rank || gone == size || left.id != best.left || parts[gone].id != best.right)
      continue;
    left.id = left.merged;
    parts[gone].rank = no_rank;
    next_[best.place] = next_[gone];
    if (next_[gone] < size) previous_[next_[gone]] = best.place;
    offer(best.place);
    if (best.place > 0) offer(previous_[best.place]);
  }
  std::erase_if(parts, [](const Part& part) { return part.rank == no_rank; });
}

/// `done_` are tokens from the start on that are thought to stand. A window goes on where they end. Where its
/// first token does not fit the last of them, more is taken back and the window is longer each time, at last
/// all of the piece; only what gets further than ever before makes windows short again, so that this ends.
void Merger::merge_long(std::span<const Id> symbols) {
  const auto size = static_cast<std::uint32_t>(symbols.size());
  done_.clear();
  std::uint32_t begin = 0, furthest = 0, length = window_symbols;
  std::size_t back = 1;
  while (begin < size) {
    const std::uint32_t end = begin + std::min(size - begin, length);
    merge_window(symbols.subspan(begin, end - begin), begin, window_);
    if (follows_done(symbols, end)) {
      begin = end == size ? end : drop_tail(end, end - (end - begin) / 8);
      done_.insert(done_.end(), window_.begin(), window_.end());
    } else {
      begin = take_back(back);
      back *= 2;
    }
    const bool is_further = begin > furthest;
    furthest = std::max(begin, furthest);
    back = is_further ? 1 : back;
    length = is_further ? window_symbols : std::min(size, length * 2);
  }
}

/// Drops the window's tokens that end after `stands`: what follows the window may change them. Returns where
/// the others end.
std::uint32_t Merger::drop_tail(std::uint32_t end, std::uint32_t stands) {
  while (!window_.empty() && end > stands) {
    end = window_.back().begin;
    window_.pop_back();
  }
  return end;
}

/// Drops up to `count` tokens of `done_`, of which there are some. Returns where the others end.
std::uint32_t Merger::take_back(std::size_t count) {
  const std::size_t kept = done_.size() - std::min(count, done_.size());
  const std::uint32_t begin = done_[kept].begin;
  done_.resize(kept);
  return begin;
}

/// Whether the last token of `done_` and the window's first are the encoding of their text.
bool Merger::follows_done(std::span<const Id> symbols, std::uint32_t window_end) {
  if (done_.empty()) return true;
  const std::uint32_t begin = done_.back().begin, border = window_.front().begin;
  const std::uint32_t end = window_.size() > 1 ? window_[1].begin : window_end;
  merge_window(symbols.subspan(begin, end - begin), begin, pair_);
  return pair_.size() == 2 && pair_[1].begin == border;
}

}  // namespace dt::tokenizer
