#pragma once
// One chunk of token ids that somebody else's program made.

#include "data/chunk_encoder.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Documents are those of the chunk's parts, or where it has none what lies between EOS ids. An EOS that ends
/// a document is left out, as if its text had been encoded. Errors: input, an id that the tokenizer does not
/// have, naming the file and the id's place in it.
EncodedChunk encode_tokens(const Chunk& chunk, const TokenizerInfo& tokenizer);

}  // namespace dt::data
