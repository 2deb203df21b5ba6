// Files of token ids: NumPy's and llm.c's. Files that begin like neither are plain ids of a type that the
// first byte chooses.
#include "data/input/token_file.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace dt::data;

TokenHead head_of(dt_fuzz::MemorySource& source, std::string_view bytes) {
  if (is_npy(bytes)) return read_npy_head(source, "fuzzed");
  if (is_llmc(bytes)) return read_llmc_head(source, "fuzzed");
  const auto type = static_cast<unsigned char>(bytes.empty() ? 0 : bytes[0]) % 7;
  return {static_cast<TokenType>(type), {}};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] {
    dt_fuzz::MemorySource source(dt_fuzz::text_of(bytes, size));
    TokenReader reader(source, "fuzzed", head_of(source, dt_fuzz::text_of(bytes, size)));
    while (!reader.next().is_last) continue;
  });
}
