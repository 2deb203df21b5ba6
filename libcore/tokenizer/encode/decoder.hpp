#pragma once
// Turns tokens back into text, by the steps of a tokenizer's decoder.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/encode/normalizer.hpp"
#include "tokenizer/encode/vocabulary.hpp"

namespace dt::tokenizer {

/// A step that changes the texts of a list of tokens. Names follow Hugging Face's files.
/// Errors: input if the texts together grow beyond `max_bytes`.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void apply(std::vector<std::string>& texts, std::size_t max_bytes) const = 0;
};

/// Returns a step that joins all texts.
std::unique_ptr<DecodeStep> make_fuse();
/// Returns a step that turns texts such as `<0x0A>` into the byte that they name. If consecutive
/// bytes are not UTF-8, each becomes U+FFFD.
std::unique_ptr<DecodeStep> make_byte_fallback();
/// Returns a step that applies `replacement` to each text by itself.
std::unique_ptr<DecodeStep> make_decode_replacement(std::unique_ptr<Normalizer> replacement);
/// Returns a step that removes `content` up to `start` times from each text's start, and up to `stop`
/// times from its end.
std::unique_ptr<DecodeStep> make_decode_strip(std::string content, std::size_t start, std::size_t stop);
/// Returns a step that removes `content` from the start of the first text that begins with it; with
/// `each`, from each such text. The step stops at the first text of which something is left.
/// SentencePiece has this step; its name is dt's.
std::unique_ptr<DecodeStep> make_strip_until_text(std::string content, bool each);
/// Returns a step that turns `replacement` into a space; with `drops_first`, into nothing in the
/// first text.
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string replacement, bool drops_first);

struct Decoder {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  std::string separator;  // between the texts that the steps leave
};

/// Returns the text of `ids`.
/// Errors: input if an id has no token, or the texts grow beyond max_grown_bytes().
std::string decode(const Vocabulary& vocabulary, const Decoder& decoder, std::span<const Id> ids);

}  // namespace dt::tokenizer
