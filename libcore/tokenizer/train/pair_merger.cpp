#include "tokenizer/train/pair_merger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::tokenizer {

TrainingWords::TrainingWords(std::vector<CountedWord> words, const std::array<Id, 256>& byte_ids) {
  std::size_t size = 1;
  for (const CountedWord& word : words) size += word.bytes.size() + 1;
  if (size >= inside)
    throw input_error("the distinct words of the text take {} bytes; the limit is 4 GiB", size);
  std::sort(words.begin(), words.end(),
            [](const CountedWord& a, const CountedWord& b) { return a.count > b.count; });
  symbols_.reserve(size);
  symbols_.push_back(border);
  for (const CountedWord& word : words) {
    for (const char byte : word.bytes) symbols_.push_back(byte_ids[static_cast<unsigned char>(byte)]);
    symbols_.push_back(border);
    if (runs_.empty() || runs_.back().count != word.count) runs_.push_back({0, word.count});
    runs_.back().end = this->size();
  }
}

void TrainingWords::Counts::find(Position position) {
  const auto next = runs_.begin() + static_cast<std::ptrdiff_t>(run_) + 1;
  const auto found = std::upper_bound(next, runs_.end(), position,
                                      [](Position p, const EqualCounts& run) { return p < run.end; });
  run_ = static_cast<std::size_t>(found - runs_.begin());
}

void NeighbourTallies::add_tallies(const NeighbourTallies& other) {
  for (const Id id : other.ids_) {
    Tally& tally = tallies_[id];
    if (tally.num_places == 0) ids_.push_back(id);
    tally.num_places += other.tallies_[id].num_places;
    tally.count += other.tallies_[id].count;
  }
}

void NeighbourTallies::clear() {
  for (const Id id : ids_) tallies_[id] = {};
  ids_.clear();
  places_.clear();
}

void merge_pair(TrainingWords& words, const std::vector<std::uint32_t>& num_bytes, TokenPair pair, Id merged,
                std::span<const Position> positions, MergeSides& sides) {
  const std::uint32_t left_bytes = num_bytes[pair.left], right_bytes = num_bytes[pair.right];
  TrainingWords::Counts counts(words);
  for (const Position at : positions) {
    if (words[at] != pair.left || words[at + left_bytes] != pair.right) continue;
    const Id before = words[at - 1], after = words[at + left_bytes + right_bytes];
    const std::uint64_t count = counts.at(at);
    words.merge(at, left_bytes, right_bytes, merged);
    if (before != TrainingWords::border) sides.left.add(before, at - num_bytes[before], count);
    if (after != TrainingWords::border) sides.right.add(after, at, count);
  }
}

std::vector<std::span<const Position>> divide_by_words(const TrainingWords& words,
                                                       std::span<const Position> positions,
                                                       std::size_t max_parts) {
  const auto are_of_one_word = [&](Position a, Position b) {
    while (a < b && words[a] != TrainingWords::border) ++a;
    return a == b;
  };
  std::vector<std::span<const Position>> parts;
  for (std::size_t part = 1, begin = 0, end = 0; begin < positions.size(); ++part, begin = end) {
    end = std::max(begin + 1, positions.size() * part / max_parts);
    while (end < positions.size() && are_of_one_word(positions[end - 1], positions[end])) ++end;
    parts.push_back(positions.subspan(begin, end - begin));
  }
  return parts;
}

}  // namespace dt::tokenizer
