#include "data/input/conversation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "data/tokenizer.hpp"

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

/// Returns whether the text between brackets can name a special token; "{role}" cannot.
bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c > 0x20 && c != '<' && c != '>' && c != '{' && c != '}';
  });
}

/// Returns the length of a special token's likeness at the beginning of `text`, or 0.
std::size_t mark_at(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> brackets[] = {{"<|", "|>"}, {"<\uff5c", "\uff5c>"}};
  for (const auto& [open, close] : brackets) {
    const std::size_t end = text.starts_with(open) ? text.find(close, open.size()) : text.npos;
    if (end != text.npos && is_name(text.substr(open.size(), end - open.size()))) return end + close.size();
  }
  if (text.front() != '[' && text.front() != '<') return 0;
  const std::size_t end = text.find(text.front() == '[' ? ']' : '>');
  if (end == text.npos) return 0;
  std::string_view name = text.substr(1, end - 1);
  if (name.starts_with('/')) name.remove_prefix(1);
  if (text.front() == '[') {
    const bool is_capitals =
        std::ranges::all_of(name, [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    return name.size() > 1 && is_capitals ? end + 1 : 0;
  }
  constexpr std::string_view names[] = {
      "s", "bos", "eos", "start_of_turn", "end_of_turn", "end_of_utterance"};
  return text.front() == '<' && std::ranges::find(names, name) != std::end(names) ? end + 1 : 0;
}

const std::string& name_of_role(const TurnFormat& format, const std::string& role) {
  if (format.role_names.empty()) return role;
  const auto found = format.role_names.find(role);
  if (found != format.role_names.end()) return found->second;
  throw Error(
      ErrorKind::input,
      fmt::format("a turn has the role {}, which the chat template {} does not define", role, format.name),
      "remove these turns, or describe them with --turn-format");
}

/// Removes the white space that Python's strip(), and hence Jinja's trim, removes.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces[] = {
      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1c",   "\x1d",   "\x1e",   "\x1f",   " ",
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  const auto* space = std::begin(spaces);
  const auto begins = [&](std::string_view it) { return text.starts_with(it); };
  while ((space = std::ranges::find_if(spaces, begins)) != std::end(spaces))
    text.remove_prefix(space->size());
  const auto ends = [&](std::string_view it) { return text.ends_with(it); };
  while ((space = std::ranges::find_if(spaces, ends)) != std::end(spaces)) text.remove_suffix(space->size());
  return text;
}

void check_marks(std::string_view text, TextEncoder& encoder) {
  for (const std::string& mark : special_marks(text)) {
    std::vector<std::uint32_t> ids, as_text;
    encoder.encode(mark, ids);
    encoder.encode_plain(mark, as_text);
    if (ids.size() == 1 && as_text != ids) continue;
    if (ids.size() == 1)
      throw Error(
          ErrorKind::input,
          fmt::format(
              "--turn-format writes '{}', which is an ordinary token of the tokenizer and not a special one",
              mark),
          "text from users could imitate it: use a tokenizer that has it as a special token, or another "
          "--turn-format");
    throw Error(ErrorKind::input,
                fmt::format("--turn-format writes '{}', which is not a token of the tokenizer", mark),
                "text from users could imitate it: use a tokenizer that has it as a special token, or "
                "another --turn-format");
  }
}

}  // namespace

bool TurnFormat::learns(const std::string& role) const {
  return std::ranges::find(loss_on, role) != loss_on.end();
}

TurnFormat parse_turn_format(std::string_view text) {
  const std::size_t at = text.find(content_mark);
  if (at == text.npos || text.find(content_mark, at + 1) != text.npos)
    throw Error(ErrorKind::usage,
                fmt::format("--turn-format '{}' does not contain {{content}} exactly once", text),
                "example: '<|im_start|>{role}\\n{content}<|im_end|>\\n'");
  return {std::string(text.substr(0, at)), std::string(text.substr(at + content_mark.size()))};
}

std::vector<std::string> special_marks(std::string_view text) {
  std::vector<std::string> marks;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t length = mark_at(text.substr(at));
    if (length > 0) marks.emplace_back(text.substr(at, length));
  }
  return marks;
}

void check_specials(const TurnFormat& format, TextEncoder& encoder) {
  for (const std::string& text : {format.begin, format.before, format.after}) check_marks(text, encoder);
}

void TurnEncoder::append(const std::vector<Turn>& turns, std::vector<std::uint32_t>& ids) {
  if (turns.empty()) return;
  const std::size_t first = ids.size();
  encoder_.encode(format_.begin, ids);
  if (format_.masks_targets()) mark_from(first, ids);
  if (!format_.default_system.empty() && turns.front().role != "system")
    append_turn(Turn{"system", format_.default_system}, ids);
  for (const Turn& turn : turns) append_turn(turn, ids);
}

void TurnEncoder::append_turn(const Turn& turn, std::vector<std::uint32_t>& ids) {
  const std::string name = name_of_role(format_, turn.role);
  const std::string before = with_role(format_.before, name), after = with_role(format_.after, name);
  if (checked_roles_.insert(turn.role).second) {
    check_marks(before, encoder_);
    check_marks(after, encoder_);
  }
  if (!turn.has_weight && !format_.masks_targets())
    throw Error(ErrorKind::input,
                fmt::format("a turn of {} has weight 0, which excludes it from the loss", turn.role),
                "name the roles to train on with --loss-on");
  const std::size_t first = ids.size();
  encoder_.encode(before, ids);
  if (format_.masks_targets()) mark_from(first, ids);
  const std::size_t first_of_content = ids.size();
  encoder_.encode_plain(format_.trims ? trimmed(turn.content) : turn.content, ids);
  encoder_.encode(after, ids);
  if (format_.masks_targets() && !(turn.has_weight && format_.learns(turn.role)))
    mark_from(first_of_content, ids);
}

}  // namespace dt::data
