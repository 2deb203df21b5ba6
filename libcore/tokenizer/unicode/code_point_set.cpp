#include "tokenizer/unicode/code_point_set.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "tokenizer/unicode/unicode_properties.hpp"

namespace dt::tokenizer {

namespace {

std::vector<CodePointRange> in_order(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  std::vector<CodePointRange> joined;
  for (const CodePointRange& range : ranges) {
    if (range.last < range.first) continue;
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

std::uint32_t value_of(char digit) {
  if (digit <= '9' && digit >= '0') return static_cast<std::uint32_t>(digit - '0');
  if (digit >= 'A' && digit <= 'Z') return static_cast<std::uint32_t>(digit - 'A' + 10);
  if (digit >= 'a' && digit <= 'z') return static_cast<std::uint32_t>(digit - 'a' + 36);
  return digit == '+' ? 62 : 63;
}

CodePointSet read_set(std::string_view text) {
  std::vector<CodePointRange> ranges;
  char32_t at = 0, begin = 0;
  bool is_end = false;
  for (std::uint32_t step = 0, shift = 0; !text.empty(); text.remove_prefix(1)) {
    const std::uint32_t digit = value_of(text.front());
    step |= (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    at += step;
    if (is_end) {
      ranges.push_back({begin, at - 1});
    } else {
      begin = at;
    }
    is_end = !is_end;
    step = shift = 0;
  }
  return CodePointSet(std::move(ranges));
}

std::optional<std::string> normalized_name(std::string_view name) {
  std::string normalized;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) >= 0x80) return std::nullopt;
    if (c == ' ' || c == '-' || c == '_') continue;
    normalized += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  return normalized;
}

std::size_t num_sets() {
  std::size_t count = 0;
  for (std::size_t i = 0; i < num_property_names; ++i) count = std::max(count, property_names[i].index + 1);
  return count;
}

}  // namespace

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges)
    : CodePointSet(std::vector<CodePointRange>(ranges)) {}

CodePointSet::CodePointSet(std::vector<CodePointRange> ranges) : ranges_(in_order(std::move(ranges))) {}

bool CodePointSet::contains(char32_t code_point) const {
  const auto range =
      std::lower_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](const CodePointRange& candidate, char32_t c) { return candidate.last < c; });
  return range != ranges_.end() && range->first <= code_point;
}

CodePointSet CodePointSet::operator~() const {
  std::vector<CodePointRange> ranges;
  char32_t begin = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > begin) ranges.push_back({begin, range.first - 1});
    begin = range.last + 1;
  }
  if (begin <= last_code_point) ranges.push_back({begin, last_code_point});
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::operator|(const CodePointSet& other) const {
  std::vector<CodePointRange> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::operator&(const CodePointSet& other) const {
  return ~(~*this | ~other);
}

bool CodePointSet::operator==(const CodePointSet& other) const {
  return std::equal(ranges_.begin(), ranges_.end(), other.ranges_.begin(), other.ranges_.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && a.last == b.last; });
}

CodePointTable::CodePointTable(const CodePointSet& set) : bits_(CodePointSet::last_code_point + 1) {
  for (const CodePointRange& range : set.ranges())
    std::fill(bits_.begin() + range.first, bits_.begin() + range.last + 1, true);
}

std::optional<std::size_t> property_index(std::string_view name) {
  const auto normalized = normalized_name(name);
  if (!normalized) return std::nullopt;
  const PropertyName* const end = property_names + num_property_names;
  const PropertyName* const found = std::lower_bound(
      property_names, end, *normalized,
      [](const PropertyName& known, const std::string& sought) { return known.name < sought; });
  if (found == end || found->name != *normalized) return std::nullopt;
  return found->index;
}

const CodePointSet& property_at(std::size_t index) {
  static std::vector<std::unique_ptr<const CodePointSet>> sets(num_sets());
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  auto& set = sets.at(index);
  if (!set) set = std::make_unique<const CodePointSet>(read_set(property_sets[index]));
  return *set;
}

const CodePointSet& property(std::string_view name) {
  const auto index = property_index(name);
  DT_CHECK(index, "there is no character property {}", name);
  return property_at(*index);
}

const CodePointSet& rust_word_characters() {
  static const CodePointSet set = property("alphabetic") | property("m") | property("nd") | property("pc") |
                                  CodePointSet{{0x200c, 0x200d}};
  return set;
}

}  // namespace dt::tokenizer
