#include "data/input/conversation.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/test_folder.hpp"
#include "data/tokenizer.hpp"

using namespace dt;
using namespace dt::data;

namespace {

/// Returns the text of ids, with those in brackets that are no targets.
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
  const auto encoder = tokenizer->encoder();
  TurnEncoder(format, *encoder).append({{"user", "Hi {role}?"}, {"bot", "Yes."}, {"user", ""}}, ids);
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

TEST_CASE("a turn without weight is no target, and refused where everything is learned") {
  const auto tokenizer = make_tokenizer("bytes");
  const auto encoder = tokenizer->encoder();
  TurnFormat format = parse_turn_format("{role}: {content}; ");
  const std::vector<Turn> turns = {{"bot", "a"}, {"bot", "b", false}, {"bot", "c"}};
  std::vector<std::uint32_t> ids;
  const auto error = dt_test::caught([&] { TurnEncoder(format, *encoder).append(turns, ids); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(
      error.says("a turn of bot has weight 0, which excludes it from the loss; name the roles to train on "
                 "with --loss-on"));
  format.loss_on = {"bot"};
  ids.clear();
  TurnEncoder(format, *encoder).append(turns, ids);
  CHECK(shown(ids) == "[bot: ]a; [bot: b; bot: ]c; ");
}

TEST_CASE("what a format writes as special tokens the tokenizer must have") {
  using Marks = std::vector<std::string>;
  CHECK(special_marks("<|im_start|>{role}\n[INST] x [/INST]</s><start_of_turn>") ==
        Marks{"<|im_start|>", "[INST]", "[/INST]", "</s>", "<start_of_turn>"});
  CHECK(special_marks("<\uff5cUser\uff5c>") == Marks{"<\uff5cUser\uff5c>"});
  CHECK(special_marks("<{role}> <|{role}|> a < b > c [x] [1] </{role}> | ### <|a b|> [ <").empty());
  const auto tokenizer = make_tokenizer("bytes");
  const auto encoder = tokenizer->encoder();
  const auto refused = [&](const char* format) {
    return dt_test::caught([&] { check_specials(parse_turn_format(format), *encoder); });
  };
  CHECK(refused("{content}<|im_end|>")
            .says("--turn-format writes '<|im_end|>', which is not a token of the tokenizer; text from users "
                  "could imitate it"));
  CHECK(refused("[INST]{content}").kind == ErrorKind::input);
  const TurnFormat format = parse_turn_format("<|{role}|>{content}");  // with a role it is valid
  check_specials(format, *encoder);
  std::vector<std::uint32_t> ids;
  CHECK(dt_test::caught([&] {
          TurnEncoder(format, *encoder).append({{"user", "x"}}, ids);
        }).says("writes '<|user|>', which is not a token"));
}

TEST_CASE("a format says the content once") {
  for (const char* format : {"", "{role}", "{content}{content}"})
    CHECK(
        dt_test::caught([&] { parse_turn_format(format); }).says("does not contain {content} exactly once"));
}

namespace {

/// An encoder whose one token besides bytes is merged from ordinary text, as GPT-2 learned some names.
class OrdinaryMark final : public TextEncoder {
 public:
  void encode(std::string_view text, std::vector<std::uint32_t>& ids) override {
    if (text == "</s>") return ids.push_back(300);
    ids.insert(ids.end(), text.begin(), text.end());
  }
};

}  // namespace

TEST_CASE("a format's mark that text becomes is refused: users' text could forge it") {
  OrdinaryMark encoder;
  const auto error = dt_test::caught([&] { check_specials(parse_turn_format("{content}</s>"), encoder); });
  CHECK(error.kind == ErrorKind::input);
  CHECK(error.says("'</s>', which is an ordinary token of the tokenizer and not a special one"));
}
