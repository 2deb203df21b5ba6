#include "tokenizer/encode/byte_alphabet.hpp"

#include "base/text/utf8.hpp"

namespace dt::tokenizer {

namespace {

bool is_printable(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> characters;
  std::array<int, 512> bytes;  // by code point; -1 if the code point stands for no byte
  Alphabet() {
    bytes.fill(-1);
    char32_t free = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t character = is_printable(byte) ? static_cast<char32_t>(byte) : free++;
      characters[static_cast<std::size_t>(byte)] = to_utf8(character);
      bytes[character] = byte;
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet it;
  return it;
}

}  // namespace

std::optional<std::string> bytes_of_alphabet(std::string_view text) {
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(character_length(text))) {
    const char32_t character = first_code_point(text);
    const int byte = character < alphabet().bytes.size() ? alphabet().bytes[character] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string in_alphabet(std::string_view bytes) {
  std::string text;
  append_in_alphabet(bytes, text);
  return text;
}

void append_in_alphabet(std::string_view bytes, std::string& text) {
  const auto& characters = alphabet().characters;
  for (const char byte : bytes) text += characters[static_cast<unsigned char>(byte)];
}

}  // namespace dt::tokenizer
