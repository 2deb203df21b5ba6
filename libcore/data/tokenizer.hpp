#pragma once
// Text to token ids and back. A new tokenizer is a class behind this interface and a line in make_tokenizer.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"

namespace dt::data {

/// Tokens are int32 to models.
inline constexpr std::int64_t largest_vocabulary = std::int64_t{1} << 31;

/// What files say about the tokenizer that made them.
struct TokenizerInfo {
  std::string name;
  std::uint64_t digest = 0;  // XXH3-64 of tokenizer.json
  std::uint32_t vocabulary_size = 0;
  /// The id that ends a document; nothing where none is known, so that none is appended.
  std::optional<std::uint32_t> eos;
  bool fits_u16() const { return vocabulary_size <= 65536; }
  bool operator==(const TokenizerInfo&) const = default;
};

/// What one thread encodes with. It remembers what it met: one for much text.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// Appends the ids of `text`, which is valid UTF-8; EOS only where the text has it written out.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids) = 0;
  /// The same, but a special token that is written out in `text` is text, as what users wrote should be.
  virtual void encode_plain(std::string_view text, std::vector<std::uint32_t>& ids) { encode(text, ids); }
};

/// Implementations are safe to use from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual const TokenizerInfo& info() const = 0;
  /// Returns whether a regular expression splits text that no code of dt's own stands for.
  virtual bool splits_by_regex() const { return false; }
  /// Returns whether a regular expression changes text before it is split.
  virtual bool normalizes_by_regex() const { return false; }

  /// The largest n such that encoding text[0, n) and text[n, …) apart gives the ids of encoding all of it,
  /// whatever follows `text`; 0 where there is none. `text` ends between characters, but need not be valid
  /// UTF-8.
  virtual std::size_t safe_cut(std::string_view text) const = 0;
  /// The tokenizer outlives it.
  virtual std::unique_ptr<TextEncoder> encoder() const = 0;
  /// Errors: input, an id outside the vocabulary.
  virtual std::string decode(std::span<const std::uint32_t> ids) const = 0;
  /// Writes `folder`/tokenizer.json.
  virtual void save(const fs::path& folder) const = 0;
};

inline constexpr const char* tokenizer_file_name = "tokenizer.json";
/// The name of every tokenizer that is read from a file.
inline constexpr const char* file_tokenizer_name = "tokenizer.json";

/// `name` is "bytes" (ids 0..255 are the bytes of UTF-8, 256 is EOS, decoded as "<|endoftext|>"), or the path
/// of a file (see tokenizer::read_tokenizer, as for `pattern`). `eos` is the text of the token that ends a
/// document; "" leaves it to the file. Errors: input, a file that is none, or in which no token is `eos`, or
/// which does not say, where `needs_eos`; a pattern or an `eos` for bytes.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const std::string& pattern = {},
                                          const std::string& eos = {}, bool needs_eos = true);

/// Of a tokenizer.json's text in which `eos` ends a document. Errors: input, naming `origin`.
std::unique_ptr<Tokenizer> tokenizer_of_text(std::string text, const std::string& origin, std::uint32_t eos);

/// The tokenizer of a dataset's folder, which made what `info` is from. Errors: input, it is another one.
std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& folder, const TokenizerInfo& info);

}  // namespace dt::data
