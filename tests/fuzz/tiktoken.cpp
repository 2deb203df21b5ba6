// tiktoken's ranks: the first line is the pattern, the file follows.
#include "fuzz/fuzz.hpp"
#include "fuzz/use_tokenizer.hpp"
#include "tokenizer/files/tiktoken_file.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] {
    std::string_view ranks = dt_fuzz::text_of(bytes, size);
    const std::string pattern(dt_fuzz::take_until(ranks, '\n'));
    dt::tokenizer::is_tiktoken_file(ranks);
    dt_fuzz::use_tokenizer(dt::tokenizer::tiktoken_as_hugging_face(ranks, "fuzzed", pattern));
  });
}
