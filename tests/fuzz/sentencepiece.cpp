// SentencePiece's tokenizer.model.
#include "fuzz/fuzz.hpp"
#include "fuzz/use_tokenizer.hpp"
#include "tokenizer/files/sentencepiece_file.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] {
    dt_fuzz::use_tokenizer(
        dt::tokenizer::sentencepiece_as_hugging_face(dt_fuzz::text_of(bytes, size), "fuzzed"));
  });
}
