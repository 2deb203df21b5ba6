#include "data/tokenizer.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace dt::data {

namespace {

constexpr std::uint32_t byte_eos = 256;
constexpr std::string_view eos_text = "<|endoftext|>";
constexpr std::string_view bytes_file =
    "{\"format\": \"dt-tokenizer\", \"version\": 1, \"name\": \"bytes\", \"vocabulary_size\": 257, \"eos\": "
    "256}\n";

class ByteTokenizer final : public Tokenizer {
 public:
  const TokenizerInfo& info() const override { return info_; }

  std::size_t safe_cut(std::string_view text) const override { return text.size(); }

  void encode(std::string_view text, std::vector<std::uint32_t>& ids) const override {
    const auto* begin = reinterpret_cast<const unsigned char*>(text.data());
    ids.insert(ids.end(), begin, begin + text.size());
  }

  std::string decode(std::span<const std::uint32_t> ids) const override {
    std::string text;
    text.reserve(ids.size());
    for (const std::uint32_t id : ids) {
      if (id > byte_eos)
        throw input_error("token {} is outside the vocabulary of {} tokens", id, info_.vocabulary_size);
      if (id == byte_eos) {
        text += eos_text;
      } else {
        text += static_cast<char>(id);
      }
    }
    return text;
  }

  void save(const fs::path& folder) const override {
    File file = File::create(folder / tokenizer_file_name);
    file.write(bytes_file);
    file.close();
  }

 private:
  TokenizerInfo info_{"bytes", digest(bytes_file), byte_eos + 1, byte_eos};
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  throw Error(ErrorKind::input, fmt::format("the tokenizer '{}' is unknown", name), "expected: bytes");
}

}  // namespace dt::data
