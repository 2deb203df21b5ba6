#pragma once
// Tokens back to text, as the steps of a tokenizer's decoder say.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tokenizer/normalizer.hpp"
#include "tokenizer/vocabulary.hpp"

namespace dt::tokenizer {

/// The names are those of Hugging Face's files. Each changes a list of tokens' texts. Errors: input, texts
/// that grow together beyond `max_bytes`.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual void apply(std::vector<std::string>& texts, std::size_t max_bytes) const = 0;
};

/// All texts become one.
std::unique_ptr<DecodeStep> make_fuse();
/// `<0x0A>` becomes that byte. Bytes in a row that are no UTF-8 become U+FFFD each.
std::unique_ptr<DecodeStep> make_byte_fallback();
/// In each text by itself.
std::unique_ptr<DecodeStep> make_decode_replacement(std::unique_ptr<Normalizer> replacement);
/// Takes up to `start` times `content` from each text's start, up to `stop` times from its end.
std::unique_ptr<DecodeStep> make_decode_strip(std::string content, std::size_t start, std::size_t stop);
/// Takes `content` from the start of the first text that begins with it, or of `each`, as long as those
/// before leave nothing. SentencePiece's; the name is ours.
std::unique_ptr<DecodeStep> make_strip_until_text(std::string content, bool each);
/// `replacement` becomes a space; with `drops_first` none in the first text.
std::unique_ptr<DecodeStep> make_metaspace_decoder(std::string replacement, bool drops_first);

struct Decoder {
  std::vector<std::unique_ptr<DecodeStep>> steps;
  std::string separator;  // between the texts that the steps leave
};

/// Errors: input: an id that no token has, and what the steps make longer than max_grown_bytes() says.
std::string decode(const Vocabulary& vocabulary, const Decoder& decoder, std::span<const Id> ids);

}  // namespace dt::tokenizer
