#include "data/input/json_line.hpp"

#include <catch2/catch.hpp>

using namespace dt::data;
using Catch::Matchers::StartsWith;

namespace {

using Turns = std::vector<std::pair<std::string, std::string>>;

Turns turns_in(const std::string& line) {
  Turns turns;
  for (const Turn& turn : turns_of_line(line))
    turns.emplace_back(turn.has_weight ? turn.role : "(" + turn.role + ")", turn.content);
  return turns;
}

/// Returns the error of a line; "" if the line is good.
template <class Read>
std::string wrong_with(const std::string& line, Read read) {
  try {
    read(line);
  } catch (const BadLine& bad) {
    return bad.what;
  }
  return "";
}

std::string wrong_with_turns(const std::string& line) {
  return wrong_with(line, turns_of_line);
}

std::string wrong_with_text(const std::string& line) {
  return wrong_with(line, [](const std::string& it) { text_of_line(it, "text"); });
}

}  // namespace

TEST_CASE("a line's text is that of its last key, wherever else keys of the name are") {
  CHECK(text_of_line(R"({"a": {"text": "no"}, "text": "yes", "b": [{"text": "no"}]})", "text") == "yes");
  CHECK(text_of_line(R"({"text": 1, "text": ["x"], "te\u0078t": "\ud83d\ude00\n"})", "text") == "😀\n");
  CHECK(wrong_with_text(R"({"text": "a", "text": ["x"]})") == "\"text\" is a JSON array");
  CHECK(wrong_with_text(R"({"text": null})") == "\"text\" is a JSON null");
  CHECK(wrong_with_text(R"({"a": {"text": "no"}})") == "no key \"text\"");
  CHECK(wrong_with_text("\"text\"") == "the line is a JSON string");
  CHECK(wrong_with_text("17") == "the line is a JSON number");
  CHECK_THAT(wrong_with_text(R"({"text": "a"} {)"), StartsWith("invalid JSON: column 15: "));
}

TEST_CASE("numbers that are not JSON's, or too large, keep no text from being read") {
  for (const char* number :
       {"NaN", "Infinity", "-Infinity", "1e999", "-1.5E+4000", "1e-999", "[NaN,{\"a\":-Infinity}]"}) {
    const std::string line = std::string("{\"score\": ") + number + R"(, "text": "NaN \"1e999"})";
    CHECK(text_of_line(line, "text") == "NaN \"1e999");
    CHECK(keys_of_line(line).is_whole);
  }
  CHECK(turns_in(R"({"loss": NaN, "messages": [{"role": "user", "content": "a", "rank": Infinity}]})") ==
        Turns{{"user", "a"}});
  CHECK(wrong_with_text(R"({"text": 1e999})") == "\"text\" is a JSON number");
  CHECK(wrong_with_text(R"({"text": NaN})") == "\"text\" is a JSON number");
  for (const char* number :
       {"nan", "NaNs", "1NaN", "--Infinity", "1e", "01e5", "1.2.3e4", "+1e4", "N", "Inf"}) {
    const std::string line = std::string("{\"score\": ") + number + R"(, "text": "a"})";
    CHECK_THAT(wrong_with_text(line), StartsWith("invalid JSON: "));
  }
  CHECK_THAT(wrong_with_text(R"({"a": NaN, "text": "a"} {)"), StartsWith("invalid JSON: column 25: "));
}

TEST_CASE(
    "half of a surrogate pair in another field keeps no text from being read; in the text it is named") {
  for (const char* other : {R"("\udc00")", R"("a\ud83dz")", R"(["\\", "\ud800\ud800", "\ude00\ud83d\ude00"])",
                            R"({"\udfff": "\""})"}) {
    const std::string line =
        std::string(R"({"\ud800": 0, "id": )") + other + R"(, "text": "\ud83d\ude00\\udc00"})";
    CHECK(text_of_line(line, "text") == "\U0001F600\\udc00");
    CHECK(keys_of_line(line).is_whole);
  }
  const std::string no_character = ", half of a surrogate pair, which is not a character";
  CHECK(wrong_with_text(R"({"text": "a\udc00"})") == "\"text\" contains \\udc00" + no_character);
  CHECK(wrong_with_text(R"({"id": "\udc01", "text": "\uD83D\n"})") ==
        "\"text\" contains \\uD83D" + no_character);
  CHECK(text_of_line(R"({"text": "\udc00", "text": "b"})", "text") == "b");
  CHECK(turns_in(R"({"x": "\udc00", "messages": [{"role": "user", "content": "a", "name": "\ud800"}]})") ==
        Turns{{"user", "a"}});
  for (const char* content :
       {R"("\udc00")", R"(["\udc00", "b"])", R"([{"type": "text", "text": "\udc00"}, "b"])"}) {
    const std::string line = std::string(R"({"messages": [{"role": "user", "content": )") + content + "}]}";
    CHECK_THAT(wrong_with_turns(line), StartsWith("the content of message 0 contains \\udc00"));
  }
  CHECK_THAT(wrong_with_text(R"({"text": "a", "b": "\u12"})"), StartsWith("invalid JSON: "));
}

TEST_CASE("a line's turns are the objects of its last messages") {
  CHECK(
      turns_in(
          R"({"id": {"role": 1}, "messages": [{"role": "user", "name": ["x", {"role": "y"}], "content": "a"},
                     {"content": "", "role": "a-1_B"}], "x": [{"role": "z", "content": "z"}]})") ==
      Turns{{"user", "a"}, {"a-1_B", ""}});
  CHECK(turns_in(R"({"messages": []})").empty());
  CHECK(turns_in(R"({"messages": [{}], "messages": [{"role": 1, "role": "u", "content": "c"}]})") ==
        Turns{{"u", "c"}});
}

TEST_CASE("of a message's parts the texts are read, and what has no text is left out") {
  CHECK(turns_in(R"({"messages": [
          {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "text": "no",
           "image_url": {"url": "x", "text": "no", "type": "text"}}, {"text": "b", "type": "text"}, "c",
           ["d"], {"type": ["text"], "text": "no"}, {"type": "text", "text": null}]},
          {"role": "user", "content": [{"type": "image_url"}]}, {"role": "user", "content": []},
          {"role": "user", "content": [{"type": "text", "text": ""}]}]})") ==
        Turns{{"user", "abc"}, {"user", ""}});
  CHECK(turns_in(R"({"messages": [{"role": "assistant", "content": null,
                                   "tool_calls": [{"id": "1", "function": {"name": "f", "content": "no"}}]},
                                  {"role": "tool", "tool_call_id": "1", "name": "f", "content": "42"},
                                  {"role": "assistant", "function_call": {"name": "f"}},
                                  {"role": "assistant", "content": "so", "tool_calls": [{}]}]})") ==
        Turns{{"tool", "42"}, {"assistant", "so"}});
  CHECK(wrong_with_turns(R"({"messages": [{"role": "a", "content": null, "tool_calls": null}]})") ==
        "message 0 has no content");
}

TEST_CASE("a message's weight says whether it is learned") {
  CHECK(turns_in(R"({"messages": [{"role": "a", "content": "x", "weight": 0}, {"weight": 1e0, "role": "b",
                     "content": "y"}, {"role": "c", "weight": null, "content": "z"},
                     {"role": "d", "content": "", "weight": 0.0}]})") ==
        Turns{{"(a)", "x"}, {"b", "y"}, {"c", "z"}, {"(d)", ""}});
  for (const char* weight : {"0.5", "2", "-1", "\"0\"", "true", "[0]"})
    CHECK(wrong_with_turns(R"({"messages": [{"role": "a", "content": "x", "weight": )" + std::string(weight) +
                           "}]}") == "message 0 has a weight other than 0 and 1");
}

TEST_CASE("what is wrong with a line's messages is said with their number") {
  CHECK(wrong_with_turns(R"({"x": [{"role": "z", "content": "z"}]})") == "no \"messages\"");
  CHECK(wrong_with_turns(R"({"messages": {"role": "u", "content": "c"}})") == "no \"messages\"");
  CHECK(wrong_with_turns(R"({"messages": [], "messages": 1})") == "no \"messages\"");
  CHECK(wrong_with_turns(R"([{"messages": []}])") == "the line is a JSON array");
  const auto second = [](const std::string& message) {
    return wrong_with_turns(R"({"messages": [{"role": "u", "content": "c"}, )" + message + ", 5]}");
  };
  for (const char* message :
       {"1", "\"x\"", "[]", R"([{"role": "u", "content": "c"}])", "{}", R"({"role": 1})",
        R"({"content": "c", "role": {"role": "u"}})", R"({"role": "u", "role": []})"})
    CHECK(second(message) == "message 1 has no role");
  CHECK(second(R"({"role": "u"})") == "message 1 has no content");
  CHECK(second(R"({"role": "u", "content": null})") == "message 1 has no content");
  CHECK(second(R"({"role": "a b", "content": "c"})") == "message 1 has the role \"a b\"");
  CHECK_THAT(second("}"), StartsWith("invalid JSON: "));
}
