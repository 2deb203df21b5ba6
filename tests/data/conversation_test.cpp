#include "data/conversation.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/test_folder.hpp"
#include "data/target_flag.hpp"

using namespace dt;
using namespace dt::data;

namespace {

/// The text of ids, those that are no targets in brackets.
std::string shown(const std::vector<std::uint32_t>& ids) {
  std::string text;
  bool was_target = true;
  for (const std::uint32_t id : ids) {
    const bool is_target = (id & not_a_target) == 0;
    if (is_target != was_target) text += is_target ? ']' : '[';
    was_target = is_target;
    text += static_cast<char>(token_of(id));
  }
  return was_target ? text : text + "]";
}

std::string encoded(const std::string& format_text, std::vector<std::string> loss_on) {
  TurnFormat format = parse_turn_format(format_text);
  format.loss_on = std::move(loss_on);
  std::vector<std::uint32_t> ids;
  const auto tokenizer = make_tokenizer("bytes");
  encode_turns({{"user", "Hi {role}?"}, {"bot", "Yes."}, {"user", ""}}, format, *tokenizer->encoder(), ids);
  return shown(ids);
}

}  // namespace

TEST_CASE("each turn stands in its format") {
  CHECK(encoded("<{role}>{content}</{role}>", {}) == "<user>Hi {role}?</user><bot>Yes.</bot><user></user>");
  CHECK(encoded("{content}", {}) == "Hi {role}?Yes.");
}

TEST_CASE("what a role's turns say, and what stands behind it, are targets") {
  CHECK(encoded("<{role}>{content}; ", {"bot"}) == "[<user>Hi {role}?; <bot>]Yes.; [<user>; ]");
  CHECK(encoded("<{role}>{content}; ", {"bot", "user"}) == "[<user>]Hi {role}?; [<bot>]Yes.; [<user>]; ");
  CHECK(encoded("{content}", {"bot", "user"}) == "Hi {role}?Yes.");
  CHECK(encoded("{content}", {"nobody"}) == "[Hi {role}?Yes.]");
}

TEST_CASE("a format says the content once") {
  for (const char* format : {"", "{role}", "{content}{content}"})
    CHECK(dt_test::caught([&] { parse_turn_format(format); }).says("does not say {content} once"));
}
