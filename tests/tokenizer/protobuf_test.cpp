#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/files/sentencepiece_file.hpp"
#include "tokenizer/sentencepiece_bytes.hpp"

using namespace dt::tokenizer;
using namespace dt_test;

namespace {

std::string refusal(const std::string& message) {
  return caught([&] {
           for (ProtobufReader reader(message, "p"); reader.next();) reader.integer();
         })
      .message;
}

}  // namespace

TEST_CASE("protobuf: fields in the order of the message, of every type") {
  const std::string origin = "p", message = proto_integer(3, 300) + proto_bytes(2000, "ab") +
                                            proto_float(1, -1.5F) + varint(4 << 3 | 1) + "12345678" +
                                            proto_integer(5, ~std::uint64_t{0});
  ProtobufReader reader(message, origin);
  REQUIRE(reader.next());
  CHECK(reader.field() == 3);
  CHECK(reader.integer() == 300);
  REQUIRE(reader.next());
  CHECK(reader.field() == 2000);
  CHECK(reader.bytes() == "ab");
  REQUIRE(reader.next());
  CHECK(reader.real() == -1.5F);
  REQUIRE(reader.next());
  REQUIRE(reader.next());
  CHECK(reader.integer() == ~std::uint64_t{0});
  CHECK_FALSE(reader.next());
}

TEST_CASE("protobuf: what is no message is refused, and nothing beyond it is read") {
  CHECK(refusal("").empty());
  CHECK(refusal(std::string("\0\1", 2)) == "p: a field has the invalid number 0");
  CHECK(refusal("\x08") == "p is truncated: a field extends beyond its end");
  CHECK(refusal("\x08\x80") == "p is truncated: a field extends beyond its end");
  CHECK(refusal("\x0a\x05"
                "abcd") == "p is truncated: a field extends beyond its end");
  CHECK(refusal(varint(1 << 3 | 2) + varint(~std::uint64_t{0}) + "a") ==
        "p is truncated: a field extends beyond its end");
  CHECK(refusal("\x0d"
                "abc") == "p is truncated: a field extends beyond its end");
  CHECK(refusal("\x08" + std::string(11, '\x80')) == "p: a number is longer than 64 bits");
  CHECK(refusal("\x0b") == "p: field 1 has the unknown wire type 3");
  CHECK(refusal(proto_bytes(1, "a")) == "p: field 1 has wire type 2, expected 0");
}
