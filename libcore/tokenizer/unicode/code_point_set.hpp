#pragma once
// Sets of code points. Some have names: letters, numbers, scripts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt::tokenizer {

struct CodePointRange {
  char32_t first, last;
};

/// Ranges in order that neither overlap nor touch.
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

/// A set that tests membership with one look-up.
class CodePointTable {
 public:
  explicit CodePointTable(const CodePointSet& set);
  bool contains(char32_t code_point) const {
    return code_point <= CodePointSet::last_code_point && bits_[code_point];
  }

 private:
  std::vector<bool> bits_;
};

/// Returns the index of the set that \p{name} means in Oniguruma, by Unicode 16, or none if the name is
/// unknown. Case, spaces, - and _ do not matter.
std::optional<std::size_t> property_index(std::string_view name);
/// Returns the set at an index.
const CodePointSet& property_at(std::size_t index);
/// Returns the set of a known name.
const CodePointSet& property(std::string_view name);

/// Returns \w as Rust's regex crate defines it: alphabetic characters, marks, decimal numbers,
/// connectors and joiners.
const CodePointSet& rust_word_characters();

}  // namespace dt::tokenizer
