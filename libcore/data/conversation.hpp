#pragma once
// Conversations as token ids: each turn wrapped in what the model knows turns by, and which turns it is to
// learn to write.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.hpp"

namespace dt::data {

struct Turn {
  std::string role;
  std::string content;
};

/// What stands around a turn's content; "{role}" in it is the turn's role.
struct TurnFormat {
  std::string before;
  std::string after;
  /// Roles whose content, and what stands after it, are targets; empty: all of everything is.
  std::vector<std::string> loss_on = {};

  bool masks_targets() const { return !loss_on.empty(); }
  /// Of a format that masks.
  bool learns(const std::string& role) const;
};

/// Of "<|im_start|>{role}\n{content}<|im_end|>\n". Errors: usage: it does not say {content} once.
TurnFormat parse_turn_format(std::string_view text);

/// Appends a conversation's ids. Special tokens are those that the format writes out; in contents they are
/// text. Where the format masks, what is no target is marked (see target_flag.hpp).
void encode_turns(const std::vector<Turn>& turns, const TurnFormat& format, TextEncoder& encoder,
                  std::vector<std::uint32_t>& ids);

}  // namespace dt::data
