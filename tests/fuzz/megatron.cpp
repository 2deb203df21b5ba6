// Megatron's X.idx and X.bin: the first byte is the number of bytes of ids that follow it, the rest is the
// index.
#include "data/build/chunk_encoder.hpp"
#include "data/input/chunk_reader.hpp"
#include "fuzz/fuzz.hpp"

using namespace dt::data;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  static const dt_fuzz::ScratchFolder folder;
  static const auto tokenizer = make_tokenizer("bytes");
  const std::string_view rest = dt_fuzz::text_of(bytes + 1, size - 1);
  const std::size_t num_bytes = std::min<std::size_t>(bytes[0], rest.size());
  const std::string path = folder.put("x.bin", rest.substr(0, num_bytes));
  folder.put("x.idx", rest.substr(num_bytes));
  ReadOptions options;
  options.format = InputFormat::megatron;
  return dt_fuzz::accepted([&] {
    ChunkReader reader(walk_of({path}), options, *tokenizer, [] {});
    while (const auto chunk = reader.next()) encode_tokens(*chunk, tokenizer->info());
  });
}
