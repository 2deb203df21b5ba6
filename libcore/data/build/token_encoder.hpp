#pragma once
// Encodes one chunk of token ids from other programs.

#include "data/build/chunk_encoder.hpp"
#include "data/tokenizer.hpp"

namespace dt::data {

/// Returns the chunk's documents. They are the chunk's parts or, if it has none, the ids between
/// EOS ids. An EOS that ends a document is left out, as if its text had been encoded.
/// Errors: input, naming the file and the id's position, for an id that the tokenizer lacks.
EncodedChunk encode_tokens(const Chunk& chunk, const TokenizerIdentity& tokenizer);

}  // namespace dt::data
