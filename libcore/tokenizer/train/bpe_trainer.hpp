#pragma once
// Learns a byte-level byte-pair encoding.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/train/word_counts.hpp"

namespace dt::tokenizer {

struct TrainOptions {
  Id vocabulary_size;                // counts the bytes and the token that ends a text; at least 257
  std::uint64_t min_pair_count = 1;  // rarer pairs do not merge; at least 1
  std::string end_of_text = "<|endoftext|>";
  int threads = 1;
};

/// Receives how many tokens there are, and how many there will be. The callback may throw to stop the
/// work.
using TrainProgress = std::function<void(Id done, Id total)>;

/// Learns tokens and merges from counted words.
/// The tokens are `end_of_text`, then the bytes in the order of their characters (see
/// byte_alphabet.hpp), then one for each merge. Each merge takes the pair that is most frequent in
/// all of the text. Of equally frequent pairs it takes the one with the lower token ids. The merges
/// and ids are those of Hugging Face's BpeTrainer, given the same words, the bytes as its alphabet
/// and the one special token.
/// Learns fewer tokens than requested if no pairs are left. The result does not depend on the order of
/// the words, nor on `threads`. Learning takes 4 bytes for each byte of the distinct words and about as
/// much again for positions of pairs.
/// Errors: input if the distinct words have 4 GiB or more.
/// Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units".
Bpe train_bpe(std::vector<CountedWord> words, const TrainOptions& options, const TrainProgress& progress);

}  // namespace dt::tokenizer
