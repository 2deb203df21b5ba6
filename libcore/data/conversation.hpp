#pragma once
// Conversations as token ids: each turn wrapped in what the model knows turns by, and which turns it is to
// learn to write.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.hpp"

namespace dt::data {

struct Turn {
  std::string role;
  std::string content;
  bool has_weight = true;  // false: it is no target, whatever its role
};

/// What stands around a turn's content; "{role}" in it is the turn's role.
struct TurnFormat {
  std::string before;
  std::string after;
  /// Roles whose content, and what stands after it, are targets; empty: all of everything is.
  std::vector<std::string> loss_on = {};
  std::string name = {};            // of the chat template that it follows; "": none
  std::string begin = {};           // before the first turn
  std::string default_system = {};  // the content of a system's turn where none is first; "": there is none
  bool trims = false;               // contents stand without the white space around them
  /// What {role} is for each role; empty: the role, whichever it is.
  std::map<std::string, std::string> role_names = {};

  bool masks_targets() const { return !loss_on.empty(); }
  /// Of a format that masks.
  bool learns(const std::string& role) const;
};

/// Of "<|im_start|>{role}\n{content}<|im_end|>\n". Errors: usage: it does not say {content} once.
TurnFormat parse_turn_format(std::string_view text);

/// What looks like a special token in a format: <|…|>, <｜…｜>, capitals in square brackets such as [INST],
/// and the names that models have for theirs in angle brackets, such as </s> and <start_of_turn>.
std::vector<std::string> special_marks(std::string_view text);

/// Checks the special tokens of a format that are the same for all roles. Errors: input, naming one that the
/// tokenizer lacks or that text becomes: what users write could forge it.
void check_specials(const TurnFormat& format, TextEncoder& encoder);

/// Writes conversations in a format. For one thread.
class TurnEncoder {
 public:
  /// Both stay where they are.
  TurnEncoder(const TurnFormat& format, TextEncoder& encoder) : format_(format), encoder_(encoder) {}
  /// Appends a conversation's ids. Special tokens are those that the format writes out; in contents they are
  /// text. Where the format masks, what is no target is marked (see target_flag.hpp). Errors: input: see
  /// check_specials, for the turns' roles; a turn without weight where the format does not
  /// mask; a role that the format does not know.
  void append(const std::vector<Turn>& turns, std::vector<std::uint32_t>& ids);

 private:
  void append_turn(const Turn& turn, std::vector<std::uint32_t>& ids);
  const TurnFormat& format_;
  TextEncoder& encoder_;
  std::set<std::string> checked_roles_;
};

}  // namespace dt::data
