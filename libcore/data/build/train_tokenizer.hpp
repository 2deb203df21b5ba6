#pragma once
// Trains a tokenizer on the inputs.

#include <memory>
#include <string>

#include "data/build/make_dataset.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Returns the tokenizer.json of a byte-level encoding with up to `train_vocabulary` tokens,
/// learned from the texts (see tokenizer::train_bpe). `eos_token` (default "<|endoftext|>") ends
/// texts and is token 0. `tokenizer_pattern` (default gpt2) splits them. There are fewer tokens if
/// the words do not yield more. Reads the inputs once. The result does not depend on `threads`.
/// Memory beside that of make_dataset(): some 80 bytes for each distinct word and 12 for each of
/// its bytes.
/// Errors: as make_dataset().
std::string train_tokenizer(const MakeOptions& options, const MakeProgress& progress);

/// Creates the tokenizer from the result of train_tokenizer().
std::unique_ptr<Tokenizer> trained_tokenizer(std::string text);

}  // namespace dt::data
