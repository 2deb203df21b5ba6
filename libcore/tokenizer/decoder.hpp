#pragma once
// Turns tokens back into text, by the steps of a tokenizer's decoder.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/normalizer.hpp"
#include "tokenizer/vocabulary.hpp"

namespace dt::tokenizer {

/// A step that changes the texts of a list of tokens. Names follow Hugging Face's files.
/// Errors: input, texts that together grow beyond `max_bytes`.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void apply(std::vector<std::string>& texts, std::size_t max_bytes) const = 0;
};

/// Joins all texts.
std::unique_ptr<DecodeStep> make_fuse();
/// Turns `<0x0A>` into that byte. If consecutive bytes are not UTF-8, each becomes U+FFFD.
std::unique_ptr<DecodeStep> make_byte_fallback();
/// Applies `replacement` to each text by itself.
std::unique_ptr<DecodeStep> make_decode_replacement(std::unique_ptr<Normalizer> replacement);
/// Removes `content` up to `start` times from each text's start, and up to `stop` times from its end.
std::unique_ptr<DecodeStep> make_decode_strip(std::string content, std::size_t start, std::size_t stop);
/// Removes `content` from the start of the first text that begins with it; with `each`, from each such
/// text. Stops at the first text of which something is left. SentencePiece has this step; its name
/// is dt's.
std::unique_ptr<DecodeStep> make_strip_until_text(std::string content, bool each);
/// Turns `replacement` into a space; with `drops_first`, into nothing in the first text.
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string replacement, bool drops_first);

struct Decoder {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  std::string separator;  // between the texts that the steps leave
};

/// Returns the text of `ids`.
/// Errors: input, an id that no token has, or texts that grow beyond max_grown_bytes().
std::string decode(const Vocabulary& vocabulary, const Decoder& decoder, std::span<const Id> ids);

}  // namespace dt::tokenizer
