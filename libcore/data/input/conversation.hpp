#pragma once
// Encodes conversations as token ids. Wraps each turn in the texts by which the model recognizes
// turns, and marks which turns the model learns to write.

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
  bool has_weight = true;  // false: not a target, whatever its role
};

/// The texts around a turn's content. "{role}" in them stands for the turn's role.
struct TurnFormat {
  std::string before;
  std::string after;
  /// Roles whose turns are targets: the content and the text after it. If empty, everything is a
  /// target.
  std::vector<std::string> loss_on = {};
  std::string name = {};            // name of the chat template that it follows; "": none
  std::string begin = {};           // text before the first turn
  std::string default_system = {};  // content of a system turn if none comes first; "": no such turn
  bool trims = false;               // removes white space around contents
  /// The text of {role} for each role. If empty, the role's own name.
  std::map<std::string, std::string> role_names = {};

  bool masks_targets() const { return !loss_on.empty(); }
  /// Returns whether turns of this role are targets. Only for a format that masks.
  bool learns(const std::string& role) const;
};

/// Parses a format such as "<|im_start|>{role}\n{content}<|im_end|>\n".
/// Errors: usage if {content} does not occur exactly once.
TurnFormat parse_turn_format(std::string_view text);

/// Returns the texts in a format that look like special tokens: <|…|>, <｜…｜>, and capitals in
/// square brackets such as [INST]. Also returns names of models' special tokens in angle brackets,
/// such as </s> and <start_of_turn>.
std::vector<std::string> special_marks(std::string_view text);

/// Checks the special tokens of a format that are the same for all roles.
/// Errors: input, naming a token that the tokenizer lacks, or that ordinary text also becomes, so
/// that users' text could forge it.
void check_specials(const TurnFormat& format, TextEncoder& encoder);

/// Encodes conversations in a format.
/// Thread safety: one thread per object.
class TurnEncoder {
 public:
  /// Both references must stay valid.
  TurnEncoder(const TurnFormat& format, TextEncoder& encoder) : format_(format), encoder_(encoder) {}
  /// Appends a conversation's ids. Only special tokens in the format become special tokens; in
  /// contents they are text. If the format masks, marks tokens that are not targets (see
  /// tokenizer.hpp).
  /// Errors: input: as check_specials() for the turns' roles; a turn without weight if the format
  /// does not mask; a role that the format does not know.
  void append(const std::vector<Turn>& turns, std::vector<std::uint32_t>& ids);

 private:
  void append_turn(const Turn& turn, std::vector<std::uint32_t>& ids);
  const TurnFormat& format_;
  TextEncoder& encoder_;
  std::set<std::string> checked_roles_;
};

}  // namespace dt::data
