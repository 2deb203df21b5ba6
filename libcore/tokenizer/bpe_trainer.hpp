#pragma once
// Learns a byte-level byte-pair encoding.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tokenizer/bpe.hpp"
#include "tokenizer/word_counts.hpp"

namespace dt::tokenizer {

struct TrainOptions {
  Id vocabulary_size;                // with the bytes and the token that ends a text; at least 257
  std::uint64_t min_pair_count = 1;  // pairs that are there less often do not merge; at least 1
  std::string end_of_text = "<|endoftext|>";
  int threads = 1;
};

/// Told how many tokens there are of how many. It may throw to stop the work.
using TrainProgress = std::function<void(Id done, Id total)>;

/// Tokens: `end_of_text`, the bytes in the order of their characters (see byte_alphabet.hpp), then merges:
/// each time of the pair that is there most often, counted in all of the text, of equally frequent ones that
/// of the lower tokens. These are the merges and ids of Hugging Face's BpeTrainer, given the same words with
/// the bytes as its alphabet and the one special token. There are fewer tokens than asked where no pairs are
/// left. The result does not depend on the order of the words, nor on `threads`. Takes 4 bytes for each byte
/// of the distinct words and about as much again for where pairs are. Errors: input, distinct words of 4 GiB.
///
/// Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units".
Bpe train_bpe(std::vector<CountedWord> words, const TrainOptions& options, const TrainProgress& progress);

}  // namespace dt::tokenizer
