#include "tokenizer/encode/charsmap.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/bounded_text.hpp"
#include "tokenizer/sentencepiece_bytes.hpp"

using namespace dt::tokenizer;
using dt_test::charsmap;

namespace {

std::string applied(const std::string& map, const std::string& text,
                    const std::vector<std::string>& kept = {}) {
  BoundedText buffer(1000);
  buffer.append("what was there");
  return std::string(make_charsmap_normalizer(map, kept)->apply(text, true, buffer));
}

bool is_refused(const std::string& map, const std::string& text = "x") {
  return dt_test::caught([&] { applied(map, text); }).says("a precompiled_charsmap is damaged");
}

}  // namespace

TEST_CASE("charsmap: strings become what their rules say, but for those that are kept") {
  CHECK(applied(charsmap('b', "xyz"), "abb\u00e9") == "axyzxyz\u00e9");
  CHECK(applied(charsmap('b', ""), "abb").empty() == false);
  CHECK(applied(charsmap('b', ""), "abbc") == "ac");
  CHECK(applied(charsmap('b', "x"), "bcb bd", {"b ", "bc", "bcb"}) == "bcb xd");
  CHECK(applied(charsmap('b', "x"), "").empty());
}

TEST_CASE("charsmap: whether there are rules for spaces") {
  CHECK(has_rules_for(charsmap('b', "x"), 'b'));
  CHECK_FALSE(has_rules_for(charsmap('b', "x"), ' '));
  CHECK(makes_runs_of_spaces(charsmap('b', "x  ")));
  CHECK_FALSE(makes_runs_of_spaces(charsmap('b', " x ")));
}

TEST_CASE("charsmap: what is none is refused, whatever its trie says") {
  const std::string map = charsmap('b', "x");
  CHECK(is_refused(""));
  CHECK(is_refused(map.substr(0, 3)));
  CHECK(is_refused(map.substr(0, map.size() - 2)));  // no texts
  CHECK(is_refused(map.substr(0, map.size() - 1)));  // texts without an end
  CHECK(is_refused(dt_test::little_endian(6) + "123456" + std::string(2, '\0')));
  std::string far = map;
  far.replace(4 + 4 * (256 ^ 'b'), 4,
              dt_test::little_endian(0x1FFFFFU << 10 | 1U << 8 | 'b'));  // the value lies beyond the trie
  CHECK(is_refused(far, "b"));
  CHECK(applied(far, "a") == "a");
  far = map;
  far.replace(4 + 4 * 512, 4, dt_test::little_endian(1U << 31 | 99));  // its text lies beyond the texts
  CHECK(is_refused(far, "b"));
}
