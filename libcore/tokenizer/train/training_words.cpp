#include "tokenizer/train/training_words.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace dt::tokenizer {

TrainingWords::TrainingWords(std::vector<CountedWord> words, const std::array<Id, 256>& byte_ids) {
  std::size_t size = 1;
  for (const CountedWord& word : words) size += word.bytes.size() + 1;
  if (size >= inside) throw input_error("the distinct words of the texts take 4 GiB or more: {} bytes", size);
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

}  // namespace dt::tokenizer
