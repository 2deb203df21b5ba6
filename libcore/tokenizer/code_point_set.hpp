#pragma once
// Sets of characters, and those that have names: letters, numbers, scripts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

struct CodePointRange {
  char32_t first, last;
};

/// Ranges in order, none beside another.
class CodePointSet {
 public:
  static constexpr char32_t last_code_point = 0x10FFFF;

  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges);
  explicit CodePointSet(std::vector<CodePointRange> ranges);  // in any order

  bool contains(char32_t code_point) const;
  const std::vector<CodePointRange>& ranges() const { return ranges_; }
  CodePointSet operator~() const;
  CodePointSet operator|(const CodePointSet& other) const;
  CodePointSet operator&(const CodePointSet& other) const;
  CodePointSet operator-(const CodePointSet& other) const { return *this & ~other; }
  CodePointSet operator^(const CodePointSet& other) const { return (*this | other) - (*this & other); }
  bool operator==(const CodePointSet& other) const;

 private:
  std::vector<CodePointRange> ranges_;
};

/// A set whose test is one look-up.
class CodePointTable {
 public:
  explicit CodePointTable(const CodePointSet& set);
  bool contains(char32_t code_point) const {
    return code_point <= CodePointSet::last_code_point && bits_[code_point];
  }

 private:
  std::vector<bool> bits_;
};

/// The place of the set that \p{name} means to Oniguruma, by Unicode 16; nothing where there is none. Case,
/// spaces, - and _ do not matter.
std::optional<std::size_t> property_index(std::string_view name);
/// The set at a place.
const CodePointSet& property_at(std::size_t index);
/// The set of a name that is known.
const CodePointSet& property(std::string_view name);

/// \w as Rust's regular expressions have it: alphabetic characters, marks, decimal numbers, connectors and
/// joiners.
const CodePointSet& rust_word_characters();

}  // namespace dt::tokenizer
