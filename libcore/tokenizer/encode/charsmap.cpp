#include "tokenizer/encode/charsmap.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/bounded_text.hpp"

namespace dt::tokenizer {

namespace {

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// Reads a trie that darts-clone wrote, and the texts behind it. Reads stay within the map,
/// whatever its units say.
class Charsmap {
 public:
  struct Rule {
    std::size_t length;     // bytes that the replacement takes the place of
    std::string_view text;  // replacement
  };

  explicit Charsmap(std::string_view bytes) {
    const std::size_t size = bytes.size() < 4 ? 0 : little_endian(bytes, 0);
    if (size == 0 || size % 4 != 0 || size >= bytes.size() - 4 || bytes.back() != '\0')
      throw input_error("a precompiled_charsmap is damaged");
    for (std::size_t at = 4; at < size + 4; at += 4) units_.push_back(little_endian(bytes, at));
    texts_ = bytes.substr(size + 4);
  }

  /// Returns the rule of the longest string that begins `text`.
  std::optional<Rule> longest(std::string_view text) const {
    // A damaged map may lead in circles. Real rules cover a few characters.
    constexpr std::size_t max_rule_bytes = 1024;
    std::size_t length = 0, value = 0;
    std::size_t node = offset(units_[0]);
    for (std::size_t i = 0; i < std::min(text.size(), max_rule_bytes); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      node ^= byte;
      if (node >= units_.size() || label(units_[node]) != byte) break;
      const std::uint32_t unit = units_[node];
      node ^= offset(unit);
      if (!has_value(unit)) continue;
      length = i + 1;
      value = node;
    }
    if (length == 0) return std::nullopt;
    return Rule{length, text_of(value)};
  }

  /// Returns the replacement texts, each ended by a zero byte.
  std::string_view texts() const { return texts_; }

  bool has_rules_for(unsigned char byte) const {
    const std::size_t node = offset(units_[0]) ^ byte;
    return node < units_.size() && label(units_[node]) == byte;
  }

 private:
  static std::size_t offset(std::uint32_t unit) { return std::size_t{unit >> 10} << ((unit & 1U << 9) >> 6); }
  static std::uint32_t label(std::uint32_t unit) { return unit & (1U << 31 | 0xFF); }
  static bool has_value(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }

  std::string_view text_of(std::size_t node) const {
    const std::size_t at = node < units_.size() ? units_[node] & ~(1U << 31) : texts_.size();
    if (at >= texts_.size()) throw input_error("a precompiled_charsmap is damaged");
    return texts_.substr(at, texts_.find('\0', at) - at);
  }

  std::vector<std::uint32_t> units_;
  std::string_view texts_;  // ends with a zero byte
};

AddedTokenFinder finder_of(const std::vector<std::string>& texts) {
  std::vector<AddedToken> tokens;
  for (const std::string& text : texts) tokens.push_back({static_cast<Id>(tokens.size()), text});
  return AddedTokenFinder(std::move(tokens));
}

class CharsmapNormalizer final : public Normalizer {
 public:
  CharsmapNormalizer(std::string bytes, const std::vector<std::string>& kept)
      : bytes_(std::move(bytes)), charsmap_(bytes_), kept_(finder_of(kept)) {}

  std::string_view apply(std::string_view text, bool, BoundedText& buffer) const override {
    buffer.clear();
    while (!text.empty()) {
      const std::size_t kept = kept_.length_at(text);
      const auto rule = kept == 0 ? charsmap_.longest(text) : std::nullopt;
      const std::size_t length = kept > 0 ? kept : rule ? rule->length : character_length(text);
      buffer.append(rule ? rule->text : text.substr(0, length));
      text.remove_prefix(length);
    }
    return buffer.view();
  }

 private:
  std::string bytes_;
  Charsmap charsmap_;
  AddedTokenFinder kept_;
};

}  // namespace

bool has_rules_for(std::string_view charsmap, char byte) {
  return Charsmap(charsmap).has_rules_for(static_cast<unsigned char>(byte));
}

bool makes_runs_of_spaces(std::string_view charsmap) {
  return Charsmap(charsmap).texts().find("  ") != std::string_view::npos;
}

std::unique_ptr<Normalizer> make_charsmap_normalizer(std::string charsmap,
                                                     const std::vector<std::string>& kept) {
  return std::make_unique<CharsmapNormalizer>(std::move(charsmap), kept);
}

}  // namespace dt::tokenizer
