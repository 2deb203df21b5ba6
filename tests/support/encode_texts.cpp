// encode_texts TOKENIZER [PATTERN [EOS]]: encodes texts, for comparisons with other tokenizers.
// Reads texts from standard input, each after its length in 8 bytes. Writes for each text its ids
// and their decoded text, each after its count. Writes to standard error how many seconds the
// encoding took.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tokenizer/encode/encoder.hpp"
#include "tokenizer/files/read_tokenizer.hpp"

using namespace dt::tokenizer;

namespace {

void write(const void* data, std::size_t count, std::size_t size) {
  const std::uint64_t number = count;
  std::cout.write(reinterpret_cast<const char*>(&number), sizeof number);
  std::cout.write(static_cast<const char*>(data), static_cast<std::streamsize>(count * size));
}

}  // namespace

int main(int argc, char** argv) try {
  const auto tokenizer = read_tokenizer(argv[1], argc > 2 ? argv[2] : "", argc > 3 ? argv[3] : "").tokenizer;
  Encoder encoder(*tokenizer);
  std::uint64_t length = 0;
  std::chrono::duration<double> encoding{0};
  while (std::cin.read(reinterpret_cast<char*>(&length), sizeof length)) {
    std::string text(length, '\0');
    std::cin.read(text.data(), static_cast<std::streamsize>(length));
    std::vector<Id> ids;
    const auto start = std::chrono::steady_clock::now();
    encoder.encode(text, ids);
    encoding += std::chrono::steady_clock::now() - start;
    write(ids.data(), ids.size(), sizeof(Id));
    const std::string decoded = decode(tokenizer->bpe.vocabulary, tokenizer->decoder, ids);
    write(decoded.data(), decoded.size(), 1);
  }
  std::cerr << encoding.count() << "\n";
} catch (const dt::Error& error) {
  std::cerr << "encode_texts: " << error.message() << "\n";
  return error.exit_code();
}
