#include "data/input/token_type.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace dt::data {

namespace {

struct Entry {
  TokenType type;
  std::size_t bytes;
  const char* numpy;
  std::uint8_t megatron;  // 0: no code
};

constexpr std::array entries = {
    Entry{TokenType::u8, 1, "|u1", 1},  Entry{TokenType::i8, 1, "|i1", 2},
    Entry{TokenType::i16, 2, "<i2", 3}, Entry{TokenType::u16, 2, "<u2", 8},
    Entry{TokenType::i32, 4, "<i4", 4}, Entry{TokenType::u32, 4, "<u4", 0},
    Entry{TokenType::i64, 8, "<i8", 5},
};

template <class Matches>
std::optional<TokenType> type_where(Matches matches) {
  const auto* found = std::find_if(entries.begin(), entries.end(), matches);
  return found == entries.end() ? std::nullopt : std::optional(found->type);
}

}  // namespace

std::size_t token_bytes(TokenType type) {
  const auto* found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.type == type; });
  DT_CHECK(found != entries.end(), "no token type {}", static_cast<int>(type));
  return found->bytes;
}

std::optional<TokenType> token_type_of_numpy(const std::string& name) {
  return type_where([&](const Entry& entry) { return entry.numpy == name; });
}

std::optional<TokenType> token_type_of_megatron(std::uint8_t code) {
  return type_where([&](const Entry& entry) { return code != 0 && entry.megatron == code; });
}

}  // namespace dt::data
