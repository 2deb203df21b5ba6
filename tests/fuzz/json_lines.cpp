// JSON lines and conversations. Skipping bad lines changes no document that is read without it.
#include "data/build/chunk_encoder.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace dt::data;

Chunk chunk_of(std::string_view lines) {
  Chunk chunk;
  chunk.bytes = lines;
  chunk.stream = std::make_shared<const InputStream>(InputStream{"fuzzed", true});
  return chunk;
}

void check(std::string_view lines, LineOptions options) {
  static const auto tokenizer = make_tokenizer("bytes");
  const auto encoder = tokenizer->encoder();
  dt_fuzz::accepted([&] {
    const EncodedChunk strict = encode_chunk(chunk_of(lines), *encoder, options);
    options.skip_bad = true;
    const EncodedChunk lenient = encode_chunk(chunk_of(lines), *encoder, options);
    dt_fuzz::require(strict.ids == lenient.ids && lenient.issues.bad_lines == 0, "sound lines read alike");
  });
  options.skip_bad = true;
  dt_fuzz::accepted([&] { encode_chunk(chunk_of(lines), *encoder, options); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view lines = dt_fuzz::text_of(bytes, size);
  check(lines, {});
  TurnFormat format = parse_turn_format("<|{role}|>{content}<|end|>\n");
  format.loss_on = {"assistant"};
  check(lines, {.turns = format});
  return 0;
}
