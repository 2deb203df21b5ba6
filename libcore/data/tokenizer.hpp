#pragma once
// Converts text to token ids and back, and says how ids are stored. A new tokenizer is a class with
// this interface and a line in make_tokenizer().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/files.hpp"

namespace dt::data {

/// Limit of a vocabulary, since models store tokens as int32.
inline constexpr std::int64_t largest_vocabulary = std::int64_t{1} << 31;

/// Bit set in a stored token that is not a target: a model reads it but does not learn to predict it.
/// Token ids are smaller, so that as an int32 label such a token is negative.
inline constexpr std::uint32_t not_a_target = 0x80000000;

/// Returns the id of a stored token.
inline std::uint32_t token_of(std::uint32_t stored) {
  return stored & ~not_a_target;
}

inline bool is_target(std::uint32_t stored) {
  return (stored & not_a_target) == 0;
}

/// The description of a tokenizer in the files that it made.
struct TokenizerIdentity {
  std::string name;
  std::uint64_t digest = 0;  // XXH3-64 of tokenizer.json
  std::uint32_t vocabulary_size = 0;
  /// The id that ends a document, or none. Without it, dt appends no id to documents.
  std::optional<std::uint32_t> eos;
  bool fits_u16() const { return vocabulary_size <= 65536; }
  bool operator==(const TokenizerIdentity&) const = default;
};

/// The encoder of one thread. It caches what it encodes, so use one for much text.
class TextEncoder {
 public:
  virtual ~TextEncoder() = default;
  /// Appends the ids of `text`, which is valid UTF-8. Appends EOS only if the text contains it.
  virtual void encode(std::string_view text, std::vector<std::uint32_t>& ids) = 0;
  /// The same, but special tokens in `text` are ordinary text, as is right for users' text.
  virtual void encode_plain(std::string_view text, std::vector<std::uint32_t>& ids) { encode(text, ids); }
};

/// A tokenizer.
/// Thread safety: implementations are safe to use from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual const TokenizerIdentity& info() const = 0;
  /// Returns whether Oniguruma, not dt's own code, runs a regular expression that splits text.
  virtual bool splits_by_regex() const { return false; }
  /// Returns whether Oniguruma runs a regular expression that changes text before it is split.
  virtual bool normalizes_by_regex() const { return false; }

  /// Returns the largest n such that encoding text[0, n) and text[n, …) separately gives the ids of
  /// encoding all of it, whatever follows `text`. Returns 0 if there is none. `text` ends between
  /// characters, but need not be valid UTF-8.
  virtual std::size_t safe_cut(std::string_view text) const = 0;
  /// Creates an encoder. The tokenizer must outlive it.
  virtual std::unique_ptr<TextEncoder> encoder() const = 0;
  /// Returns the text of ids.
  /// Errors: input for an id outside the vocabulary.
  virtual std::string decode(std::span<const std::uint32_t> ids) const = 0;
  /// Writes `folder`/tokenizer.json.
  virtual void save(const fs::path& folder) const = 0;
};

inline constexpr const char* tokenizer_file_name = "tokenizer.json";
/// Name of every tokenizer that is read from a file.
inline constexpr const char* file_tokenizer_name = "tokenizer.json";

/// Creates a tokenizer. `name` is "bytes", or the path of a file (see tokenizer::read_tokenizer,
/// also for `pattern`). For "bytes", ids 0..255 are the bytes of UTF-8, and 256 is EOS, decoded as
/// "<|endoftext|>". `eos` is the text of the token that ends a document; "" leaves the choice to
/// the file.
/// Errors: input if the file is not a tokenizer, no token in it is `eos`, or it names no such token
/// and `needs_eos`. Input, too, for a pattern or an `eos` with bytes.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const std::string& pattern = {},
                                          const std::string& eos = {}, bool needs_eos = true);

/// Creates the tokenizer of a tokenizer.json's text in which `eos` ends a document.
/// Errors: input, naming `origin`.
std::unique_ptr<Tokenizer> tokenizer_of_text(std::string text, const std::string& origin, std::uint32_t eos);

/// Opens the tokenizer in a dataset's folder, which made the data described by `info`.
/// Errors: input if it is another tokenizer.
std::unique_ptr<Tokenizer> open_tokenizer(const fs::path& folder, const TokenizerIdentity& info);

/// Returns "" if a model's tokenizer and a dataset's tokenizer.json are the same file, or every id
/// that both have stands for the same bytes. Either may have more ids. Otherwise returns the first
/// difference: "token 5 is "a" to FILE, and "b" to OTHER". Files are dt's own or any that
/// read_tokenizer() reads.
/// Errors: input if a file cannot be read as one.
std::string token_mismatch(const fs::path& of_model, const fs::path& of_data);

}  // namespace dt::data
