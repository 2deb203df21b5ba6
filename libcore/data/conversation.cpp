#include "data/conversation.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "data/target_flag.hpp"

namespace dt::data {

namespace {

constexpr std::string_view content_mark = "{content}", role_mark = "{role}";

std::string with_role(const std::string& text, const std::string& role) {
  std::string out = text;
  for (std::size_t at = 0; (at = out.find(role_mark, at)) != out.npos; at += role.size())
    out.replace(at, role_mark.size(), role);
  return out;
}

void mark_from(std::size_t first, std::vector<std::uint32_t>& ids) {
  for (std::size_t i = first; i < ids.size(); ++i) ids[i] |= not_a_target;
}

}  // namespace

bool TurnFormat::learns(const std::string& role) const {
  return std::ranges::find(loss_on, role) != loss_on.end();
}

TurnFormat parse_turn_format(std::string_view text) {
  const std::size_t at = text.find(content_mark);
  if (at == text.npos || text.find(content_mark, at + 1) != text.npos)
    throw Error(ErrorKind::usage, fmt::format("--turn-format '{}' does not say {{content}} once", text),
                "such as '<|im_start|>{role}\\n{content}<|im_end|>\\n'");
  return {std::string(text.substr(0, at)), std::string(text.substr(at + content_mark.size()))};
}

void encode_turns(const std::vector<Turn>& turns, const TurnFormat& format, TextEncoder& encoder,
                  std::vector<std::uint32_t>& ids) {
  for (const Turn& turn : turns) {
    const std::size_t first = ids.size();
    encoder.encode(with_role(format.before, turn.role), ids);
    if (format.masks_targets()) mark_from(first, ids);
    const std::size_t first_of_content = ids.size();
    encoder.encode_plain(turn.content, ids);
    encoder.encode(with_role(format.after, turn.role), ids);
    if (format.masks_targets() && !format.learns(turn.role)) mark_from(first_of_content, ids);
  }
}

}  // namespace dt::data
