#include "base/io/json.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

namespace {

JsonValue parsed(const std::string& text) {
  return JsonValue::parse(text, {"f.json", "fetch it again"});
}

/// Returns an object of `count` members that are not in the order of their names; the last is named `last`.
std::string object_of(int count, const std::string& last) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("\"key{}\": {}, ", i * 7919 % count, i);
  return text + "\"" + last + "\": true}";
}

}  // namespace

TEST_CASE("JSON is read within bounds, and errors name the line or the member") {
  struct Case {
    std::string text;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"", "f.json: line 1 is not valid JSON"},
      {"{\n\"a\": 1,\n}", "f.json: line 3 is not valid JSON"},
      {"[1] 2", "f.json: line 1 is not valid JSON"},
      {"{\"a\": {\"b\": [0, 1, 1e999]}}", "f.json: line 1 has a number that is out of range"},
      {"{\"a\": {\"b\": [0, 1" + std::string(1'000'000, '0') + "]}}",
       "f.json: member 'a.b[1]' is a number of 1000001 characters"},
      {"[0." + std::string(1000, '1') + "]", "f.json: member '[0]' is a number of 1002 characters"},
      {std::string(101, '['), "f.json: it nests more than 100 levels deep"},
      {"{\"a\": 1, \"b\": 2, \"a\": 1}", "f.json: it has the member 'a' twice"},
      {"{\"x\": [{}, {\"a\": 1, \"\\u0061\": 1}]}", "f.json: member 'x[2]' has the member 'a' twice"},
      {object_of(40, "key39"), "f.json: it has the member 'key39' twice"},
      {"{\"x\": {\"a\\u0000b\": 1}}", "f.json: member 'x' has a member name that contains NUL"},
  };
  for (const Case& c : cases) {
    const auto error = caught([&] { parsed(c.text); });
    INFO(c.text.substr(0, 60) << " → " << error.message);
    CHECK(error.kind == ErrorKind::input);
    CHECK(error.says(c.says));
    CHECK(error.says("fetch it again"));
    CHECK(error.message.size() < 300);
    CHECK_FALSE(JsonValue::parse_if_object(c.text).has_value());
  }
  CHECK(parsed(std::string(100, '[') + std::string(100, ']')).is_array());
  CHECK(JsonValue::parse("{\"\\u0000\": 1}", {.origin = "f", .nul_in_names = true}).names().size() == 1);
  CHECK(caught([] { JsonValue::parse_object("[]", {"f"}); }).says("f: it is not a JSON object"));
  CHECK(caught([] { parse_json_object("7", {"f"}); }).says("f: it is not a JSON object"));
}

TEST_CASE("members of small and of large objects are found, and keep their order") {
  for (const int count : {0, 3, 16, 17, 5000}) {
    const JsonValue object = parsed(object_of(count, "last"));
    for (int i = 0; i < count; i += 7) CHECK(object.integer(fmt::format("key{}", i * 7919 % count)) == i);
    CHECK(object.boolean("last"));
    CHECK_FALSE(object.has("key"));
    CHECK(object.names().size() == static_cast<std::size_t>(count) + 1);
    CHECK(object.names().back() == "last");
    const std::string within =
        fmt::format("{{\"o1\": {0}, \"o2\": {0}, \"o3\": {0}}}", object_of(count, "last"));
    CHECK(parsed(within).object("o1").boolean("last"));
  }
  const std::string text = R"({"b":[1,-2,3.5,"x",null,true,{}],"a":{"c":[]}})";
  CHECK(parsed(text).text() == text);
  CHECK(parse_json(text, {"f"}).dump() == text);
}

TEST_CASE("a value of another type or out of its range is named") {
  const JsonValue object =
      parsed(R"({"a": {"n": -1, "big": 18446744073709551615, "huge": 1e30, "text": "x", "list": [1, "2"]}})");
  const JsonValue a = object.object("a");
  const auto said = [](const auto& read) {
    const auto error = caught(read);
    CHECK(error.kind == ErrorKind::input);
    return error.message;
  };
  CHECK(said([&] { a.unsigned_integer("n"); }) ==
        "f.json: member 'a.n' is not an unsigned integer (it is -1); fetch it again");
  CHECK(said([&] {
          a.integer("big");
        }).find("member 'a.big' is not a 64-bit integer (it is 18446744073709551615)") != std::string::npos);
  CHECK(said([&] { a.integer("huge"); }).find("'a.huge' is not a 64-bit integer") != std::string::npos);
  CHECK(said([&] { a.integer("n", 0, 5); }).find("'a.n' is -1, expected 0 to 5") != std::string::npos);
  CHECK(said([&] { a.number("huge", 0, 1); }).find("'a.huge' is 1e+30, expected 0 to 1") !=
        std::string::npos);
  CHECK(said([&] { a.number("text"); }).find("'a.text' is not a number (it is \"x\")") != std::string::npos);
  CHECK(said([&] { a.integers("list"); }).find("'a.list[1]' is not a 64-bit integer") != std::string::npos);
  CHECK(said([&] { a.objects("list"); }).find("'a.list[0]' is not an object") != std::string::npos);
  CHECK(said([&] { a.digest("text"); }).find("'a.text' is not a digest of 16") != std::string::npos);
  CHECK(said([&] { a.string("none"); }).find("'a.none' is missing") != std::string::npos);
  CHECK(said([&] { a.string("list"); }).find("'a.list' is not a string (it is an array)") !=
        std::string::npos);
  CHECK(a.integer("n", -1, 5) == -1);
  CHECK(a.unsigned_integer("big") == UINT64_MAX);
  CHECK(a.unsigned_integer("none", 7) == 7);
}
