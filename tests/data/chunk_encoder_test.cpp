#include "data/build/chunk_encoder.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "data/input/json_line.hpp"

using namespace dt;
using namespace dt::data;
using dt_test::caught;

namespace {

const auto tokenizer = make_tokenizer("bytes");

std::shared_ptr<const InputStream> stream(const std::string& name, bool is_jsonl) {
  return std::make_shared<const InputStream>(InputStream{name, is_jsonl});
}

Chunk lines(const std::string& bytes, std::uint64_t first_line = 1) {
  return {bytes, stream("in.jsonl", true), {}, first_line};
}

std::vector<std::string> texts_of(const std::string& bytes, const std::string& key = "text") {
  const EncodedChunk encoded = encode_chunk(lines(bytes), *tokenizer->encoder(), {key, false});
  std::vector<std::string> texts;
  for (const EncodedDocumentRange& part : encoded.parts) {
    CHECK(part.ends_document);
    texts.emplace_back(encoded.ids.begin() + static_cast<std::ptrdiff_t>(part.begin),
                       encoded.ids.begin() + static_cast<std::ptrdiff_t>(part.end));
  }
  return texts;
}

std::string message_of(const std::string& bytes, std::uint64_t first_line = 1) {
  const auto error = caught([&] { encode_chunk(lines(bytes, first_line), *tokenizer->encoder(), {}); });
  CHECK(error.kind == ErrorKind::input);
  return error.message;
}

using Strings = std::vector<std::string>;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

}  // namespace

TEST_CASE("JSON lines: each line is a document, blank lines are skipped") {
  CHECK(texts_of(
            "{\"text\": \"one\"}\n\n  \t\r\n{\"id\": [1, {\"text\": 2}], \"text\": \"two\\n\\u00e4\"}\r\n") ==
        Strings{"one", "two\nä"});
  CHECK(texts_of("{\"text\": \"\"}") == Strings{""});
  CHECK(texts_of("{\"body\": \"x\"}", "body") == Strings{"x"});
  CHECK(texts_of("{\"text\": 1, \"te\\u0078t\": \"a\\ud83d\\ude00\"}") == Strings{"a😀"});
  CHECK(texts_of("{\"text\": \"first\", \"text\": \"last\"}") == Strings{"last"});
  CHECK(texts_of("{\"id\": 123456789012345678901234567890, \"text\": \"x\"}") ==
        Strings{"x"});                                               // the slow path
  CHECK(texts_of("\xEF\xBB\xBF{\"text\": \"x\"}") == Strings{"x"});  // the slow path, too
  CHECK(texts_of("").empty());
}

TEST_CASE("JSON lines: what is wrong is said with file and line") {
  const std::string good = "{\"text\": \"ok\"}\n\n";
  CHECK_THAT(message_of(good + "{\"text\": \"x\"\n"), StartsWith("in.jsonl:3: invalid JSON: "));
  CHECK_THAT(message_of(good + "{\"text\": \"x\"} y"), StartsWith("in.jsonl:3: invalid JSON: "));
  CHECK_THAT(message_of(good + "{\"text\": \"\\ud800\"}"),
             StartsWith("in.jsonl:3: \"text\" contains \\ud800, half of"));
  CHECK_THAT(message_of(good + "[1]", 100), StartsWith("in.jsonl:102: the line is a JSON array"));
  CHECK_THAT(message_of(good + "{\"txt\": \"x\"}"), StartsWith("in.jsonl:3: no key \"text\""));
  CHECK_THAT(message_of(good + "{\"txt\": \"x\"}"), Contains("--text-key"));
  CHECK_THAT(message_of(good + "{\"text\": 5}"), StartsWith("in.jsonl:3: \"text\" is a JSON number"));
  CHECK_THAT(message_of(good + "{\"text\": \"x\", \"text\": 5}"),
             StartsWith("in.jsonl:3: \"text\" is a JSON number"));
  CHECK_THAT(message_of(good + "{\"text\": \"\xFF\"}"), StartsWith("in.jsonl:3: invalid UTF-8: byte 0xff"));
}

TEST_CASE("JSON lines: lines that nest too deep are bad ones") {
  const auto nested = [](std::size_t levels, const std::string& ends) {  // the object is one level more
    return "{\"x\": " + std::string(levels - 1, '[') + std::string(levels - 1, ']') + ", \"text\": \"a\"" +
           ends;
  };
  CHECK(texts_of(nested(max_line_depth, "}")) == Strings{"a"});
  CHECK(texts_of(nested(max_line_depth, ", \"n\": 123456789012345678901234567890}")) == Strings{"a"});
  const std::string refused = "in.jsonl:1: invalid JSON: it nests more than 512 levels deep";
  CHECK_THAT(message_of(nested(max_line_depth + 1, "}")), StartsWith(refused));
  CHECK_THAT(message_of(std::string(1'000'000, '[')), StartsWith(refused));
}

TEST_CASE("JSON lines: of many bad ones each is counted, the first with its line, and none is slow") {
  // A chunk of 300,000 bad lines took minutes when each line counted the lines before it.
  std::string bytes = "{\"text\": \"a\"}\n\n";
  for (int i = 0; i < 300'000; ++i) bytes += "x\n";
  const EncodedChunk encoded =
      encode_chunk(lines(bytes + "{\"text\": \"b\"}", 7), *tokenizer->encoder(), {"text", true});
  CHECK(encoded.issues.bad_lines == 300'000);
  CHECK_THAT(encoded.issues.first_bad_line, StartsWith("in.jsonl:9: invalid JSON"));
  CHECK(encoded.parts.size() == 2);
}

TEST_CASE("text: invalid UTF-8 is said with file and line, counted from the chunk's first") {
  Chunk chunk{"a\nb\n\xE4ther\n", stream("in.txt", false), {{0, 10, true}}, 41};
  const auto error = caught([&] { encode_chunk(chunk, *tokenizer->encoder(), {}); });
  CHECK(error.kind == ErrorKind::input);
  CHECK_THAT(error.message, StartsWith("in.txt:43: invalid UTF-8: byte 0xe4"));
  CHECK_THAT(error.message, Contains("iconv"));
}

TEST_CASE("text: every kind of invalid UTF-8 is refused") {
  const auto encode = [](const std::string& bytes) {
    return encode_chunk(Chunk{bytes, stream("in.txt", false), {{0, bytes.size(), true}}, 1},
                        *tokenizer->encoder(), {});
  };
  for (const std::string invalid : {"\x80", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE6\x97",
                                    "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"})
    CHECK_THAT(caught([&] { encode("ab" + invalid); }).message, Contains("invalid UTF-8: byte 0x"));
  CHECK(encode("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF").ids.size() == 10);
}

TEST_CASE("text: parts keep their documents") {
  const Chunk chunk{"ab--cd", stream("in", false), {{0, 2, true}, {4, 6, false}}, 1, 3};
  const EncodedChunk encoded = encode_chunk(chunk, *tokenizer->encoder(), {});
  CHECK(encoded.ids == std::vector<std::uint32_t>{'a', 'b', 'c', 'd'});
  REQUIRE(encoded.parts.size() == 2);
  CHECK(encoded.parts[0].end == 2);
  CHECK(encoded.parts[0].ends_document);
  CHECK(encoded.parts[1].begin == 2);
  CHECK_FALSE(encoded.parts[1].ends_document);
  CHECK(encoded.file_bytes == 3);
}
