#include "tokenizer/encode/byte_alphabet.hpp"

#include <catch2/catch.hpp>

using namespace dt::tokenizer;

TEST_CASE("byte alphabet: GPT-2's, there and back") {
  CHECK(in_alphabet(" a\n\x7F\xAD\xFF") == "\u0120a\u010a\u0121\u0143\u00ff");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(bytes_of_alphabet(in_alphabet(all)) == all);
  CHECK_FALSE(bytes_of_alphabet("a b"));
  CHECK_FALSE(bytes_of_alphabet("\u2581"));
}
