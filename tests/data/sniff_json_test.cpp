#include "data/input/sniff_json.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "base/test_folder.hpp"
#include "data/input/input_ranges.hpp"
#include "data/input/input_reader.hpp"

using namespace dt;
using namespace dt::data;
using namespace std::string_literals;
using Catch::Matchers::Contains;
using dt_test::Folder;
using dt_test::put;

namespace {

/// Returns "lines", "text", or the error and its remedy.
std::string kind_of(const std::string& name, const std::string& content, InputOptions options = {}) {
  const Folder folder;
  put(folder / name, content);
  options.takes_tokens = false;
  InputReader reader(walk_of({folder / name}), options);
  try {
    std::string kind;
    while (const auto block = reader.next([] {})) kind = block->stream->is_jsonl ? "lines" : "text";
    return kind;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return std::string(error.what()) + "; " + error.context();
  }
}

}  // namespace

TEST_CASE("a file whose first line is an object with the text key is JSON lines, whatever its name") {
  const std::string line = R"({"id": 1, "text": "a"})";
  const std::string long_line = "{\"text\": \"" + std::string(3000000, 'x') + "\"}\n";
  for (const char* name : {"a", "a.json", "a.txt", "a.jsonl"}) {
    for (const std::string& content :
         {line, line + "\n" + line, "\xEF\xBB\xBF" + line, "\n \r\n\t" + line + "\r\n",
          "\xEF\xBB\xBF\n\n" + line, std::string(2000, '\n') + line, R"({"score": NaN, "text": "a"})"s,
          R"({"text": null})"s, long_line, "{\"text\": \"\xFF\"}"s,
          R"({"url": ")"s + std::string(1000, 'u') + R"(", "text": "a"})"}) {
      INFO(name << ": " << content.substr(0, 60));
      CHECK(kind_of(name, content) == "lines");
    }
  }
  CHECK(kind_of("a", R"({"body": "a"})", {.text_key = "body"}) == "lines");
  CHECK(kind_of("a.json", line, {.format = InputFormat::text}) == "text");
  CHECK(kind_of("a.txt", "no JSON", {.format = InputFormat::jsonl}) == "lines");
}

TEST_CASE("other JSON is refused with what makes JSON lines of it, or says that it is text") {
  for (const char* name : {"a", "a.json"}) {
    const auto refusal = [&](const std::string& content) { return kind_of(name, content); };
    CHECK_THAT(refusal(R"([{"text": "a"}, {"text": "b"}])"), Contains("array") && Contains("jq -c '.[]'"));
    CHECK_THAT(refusal("[\n  {\n    \"text\": \"a\"\n  }\n]"), Contains("array"));
    CHECK_THAT(refusal("{\n  \"text\": \"a\"\n}\n"),
               Contains("not a complete object") && Contains("jq -c ."));
    CHECK_THAT(refusal(R"({"id": 1, "content": "a"})"),
               Contains("without the key \"text\"; its keys: id, content") && Contains("--text-key"));
    CHECK_THAT(refusal(R"({"messages": []})"), Contains("--turn-format"));
    CHECK_THAT(refusal(R"({"text": "a)"), Contains("--format jsonl") && Contains("--format text"));
    CHECK_THAT(refusal(R"({"a": ")" + std::string(2000000, 'x')),
               Contains("in its first MiB") && Contains("--format jsonl"));
  }
  CHECK_THAT(kind_of("a.json", "some text"), Contains("is named .json") && Contains("--format text"));
  CHECK_THAT(kind_of("a.json", "[1, 2]"), Contains("array"));
  CHECK_THAT(kind_of("a.json", "{}"), Contains("its keys: none"));
  CHECK(kind_of("a.json", " \n") == "text");
  CHECK(kind_of("a.json", "") == "text");
  for (const char* text :
       {"", "{", "{}", "{a: 1}", "[1]", "[x]: see {\"text\"", "{% raw %}\n", "\"text\": 1", "{\"text\"} x"}) {
    INFO(text);
    CHECK(kind_of("a.txt", text) == "text");
  }
}

TEST_CASE("what is read as JSON lines by its content is told once, and cut at lines") {
  const Folder folder;
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "{\"text\": \"" + std::to_string(i) + "\"}\n";
  put(folder / "a.json", lines);
  put(folder / "b", lines);
  std::vector<std::string> told;
  ReadOptions options;
  options.notes = std::make_shared<InputNotices>([&](const std::string& text) { told.push_back(text); });
  const InputRanges ranges({folder / "a.json", folder / "b"}, options, 500);
  CHECK(ranges.count() > 10);
  const auto walk = std::make_shared<RangeWalk>(ranges, [](auto) { return true; });
  InputReader reader([walk] { return walk->next(); }, options);
  std::string read;
  while (const auto block = reader.next([] {})) {
    CHECK(block->stream->is_jsonl);
    CHECK((block->bytes.empty() || block->bytes.back() == '\n'));
    read += block->bytes;
  }
  CHECK(read == lines + lines);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told.front(), Contains("a.json and similar files as JSON lines"));
}

TEST_CASE("token ids without a header, and an index of them, are not taken for text") {
  const std::string ids = "a\0b\0c\0d\0e\0f\0g\0h\0i\0"s;
  CHECK_THAT(kind_of("a.npy", ids), Contains("no NumPy header") && Contains("--token-type"));
  CHECK_THAT(kind_of("a.npy", "text"), Contains("no NumPy header"));
  CHECK_THAT(kind_of("a.bin", ids), Contains("--format bin") && Contains("--format megatron"));
  CHECK_THAT(kind_of("a.bin", "\xFF\x01"), Contains("--format bin"));
  CHECK(kind_of("a.bin", "just text ä") == "text");
  CHECK_THAT(kind_of("a.idx", "MMIDIDX\0\0\1\0"s), Contains("is a Megatron index"));
  CHECK_THAT(kind_of("a.txt", ids), Contains("9 of its first 18 bytes are zero"));
  CHECK_THAT(kind_of("a", "t\0e\0x\0t\0,\0 \0U\0T\0F\0-\0001\0006\0"s), Contains("iconv"));
  CHECK(kind_of("a", ids, {.format = InputFormat::text}) == "text");
  CHECK(kind_of("a", "a zero \0 now and then"s) == "text");
}

TEST_CASE("an index of Megatron's is named with its ids, or refused") {
  CHECK_NOTHROW(check_indexes({"a.bin", "a.idx", "folder", "b.bin"}));
  CHECK_NOTHROW(check_indexes({"a.idx", "a.bin"}));
  CHECK_THROWS_WITH(check_indexes({"x/a.idx", "a.bin"}), Contains("x/a.idx is a Megatron index"));
}
