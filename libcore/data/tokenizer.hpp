#pragma once
// Text to token ids and back. A new tokenizer is a class behind this interface and a line in make_tokenizer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace dt::data {

/// What files say about the tokenizer that made them.
struct TokenizerInfo {
  std::string name;
  std::uint64_t digest = 0;  // XXH3-64 of tokenizer.json
  std::uint32_t vocabulary_size = 0;
  std::uint32_t eos = 0;  // the id that ends a document
  bool operator==(const TokenizerInfo&) const = default;
};

/// Implementations are safe to use from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual const TokenizerInfo& info() const = 0;

  /// The largest n such that encoding text[0, n) and text[n, …) apart gives the ids of encoding all of it,
  /// whatever follows `text`; 0 where there is none. `text` ends between characters, but need not be valid
  /// UTF-8.
  virtual std::size_t safe_cut(std::string_view text) const = 0;
  /// Appends the ids of `text`, which is valid UTF-8; never the EOS id.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids) const = 0;
  /// EOS becomes "<|endoftext|>". Errors: input, an id outside the vocabulary.
  virtual std::string decode(std::span<const std::uint32_t> ids) const = 0;
  /// Writes `folder`/tokenizer.json.
  virtual void save(const fs::path& folder) const = 0;
};

inline constexpr const char* tokenizer_file_name = "tokenizer.json";

/// `name` is "bytes": ids 0..255 are the bytes of UTF-8, 256 is EOS. Errors: input, an unknown name.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name);

}  // namespace dt::data
