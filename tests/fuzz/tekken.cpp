// Mistral's tekken.json.
#include "fuzz/fuzz.hpp"
#include "fuzz/use_tokenizer.hpp"
#include "tokenizer/files/tekken_file.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] {
    const std::string_view text = dt_fuzz::text_of(bytes, size);
    dt::tokenizer::is_tekken_file(text);
    dt_fuzz::use_tokenizer(dt::tokenizer::tekken_as_hugging_face(text, "fuzzed"));
  });
}
