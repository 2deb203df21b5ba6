#include "tokenizer/encode/vocabulary.hpp"

#include <catch2/catch.hpp>

using namespace dt::tokenizer;

TEST_CASE("vocabulary: ids are found by their bytes, whatever the bytes") {
  Vocabulary vocabulary;
  for (Id id = 0; id < 5000; ++id) vocabulary.set(id, "token " + std::to_string(id));
  vocabulary.set(5000, std::string_view("\0\xFF", 2));
  CHECK(vocabulary.size() == 5001);
  for (Id id = 0; id < 5000; ++id) REQUIRE(vocabulary.find("token " + std::to_string(id)) == id);
  CHECK(vocabulary.find(std::string_view("\0\xFF", 2)) == 5000);
  CHECK(vocabulary.find("token 5001") == no_id);
  CHECK(vocabulary.bytes(17) == "token 17");
}

TEST_CASE("vocabulary: ids may have gaps, and tokens that are only decoded") {
  Vocabulary vocabulary;
  CHECK(vocabulary.find("a") == no_id);
  vocabulary.set(3, "a");
  vocabulary.set_unfindable(5, "b");
  vocabulary.set(6, "a");
  CHECK(vocabulary.size() == 7);
  CHECK_FALSE(vocabulary.has(4));
  CHECK(vocabulary.has(5));
  CHECK(vocabulary.find("b") == no_id);
  CHECK(vocabulary.bytes(5) == "b");
  CHECK(vocabulary.find("a") == 3);
  vocabulary.set_unfindable(3, "c");
  CHECK(vocabulary.find("a") == 3);
  CHECK(vocabulary.bytes(3) == "c");
  CHECK(vocabulary.bytes(4).empty());
  CHECK(vocabulary.bytes(99).empty());
}
