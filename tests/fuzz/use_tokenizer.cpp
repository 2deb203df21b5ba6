#include "fuzz/use_tokenizer.hpp"

#include "fuzz/fuzz.hpp"
#include "tokenizer/encode/decoder.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/encode/tokenizer.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"

namespace dt_fuzz {

void use_tokenizer(const std::string& text) {
  const dt::tokenizer::Tokenizer tokenizer = dt::tokenizer::read_hugging_face(text, "fuzzed");
  dt::tokenizer::Encoder encoder(tokenizer);
  for (const char* sample :
       {"Hello, world's  12345\n\tabc ABC <s></s>", "\u00e4\u65e5\u672c\U0001F600e\u0301\ufb01\u2581", ""}) {
    std::vector<dt::tokenizer::Id> ids;
    encoder.encode(sample, ids);
    dt::tokenizer::decode(tokenizer.bpe.vocabulary, tokenizer.decoder, ids);
    require(dt::tokenizer::safe_cut(tokenizer, sample) <= std::string_view(sample).size(),
            "a cut within the text");
  }
}

}  // namespace dt_fuzz
