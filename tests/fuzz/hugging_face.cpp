// tokenizer.json.
#include "fuzz/fuzz.hpp"
#include "fuzz/use_tokenizer.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] { dt_fuzz::use_tokenizer(std::string(dt_fuzz::text_of(bytes, size))); });
}
