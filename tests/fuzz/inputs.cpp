// A file as dt-shard-data takes it, known by its content: compressions and archives, within each other,
// formats that are named and not read, token ids, JSON lines, text.
#include "data/build/chunk_encoder.hpp"
#include "fuzz/fuzz.hpp"

using namespace dt::data;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const dt_fuzz::ScratchFolder folder;
  static const auto tokenizer = make_tokenizer("bytes");
  const std::string path = folder.put("input", dt_fuzz::text_of(bytes, size));
  const auto encoder = tokenizer->encoder();
  ReadOptions options;
  options.chunk_bytes = 4096;
  options.max_chunk_bytes = std::size_t{1} << 20;
  options.decompress_memory = std::uint64_t{256} << 20;
  return dt_fuzz::accepted([&] {
    ChunkReader reader(walk_of({path}), options, *tokenizer, [] {});
    while (const auto chunk = reader.next()) {
      if (chunk->stream->tokens) encode_tokens(*chunk, tokenizer->info());
      if (!chunk->stream->tokens) encode_chunk(*chunk, *encoder, {});
    }
  });
}
