#include <catch2/catch.hpp>

#include "tokenizer/encode/bounded_text.hpp"
#include "tokenizer/encode/normalizer.hpp"

using namespace dt::tokenizer;

namespace {

std::string applied(const Normalizer& normalizer, const std::string& text) {
  BoundedText buffer(1000);  // bytes
  buffer.append("what was there");
  return std::string(normalizer.apply(text, true, buffer));
}

}  // namespace

TEST_CASE("lower case: each character by itself") {
  const auto lowercase = make_lowercase();
  CHECK(applied(*lowercase, "@AZ[`az{ 09\n") == "@az[`az{ 09\n");
  CHECK(applied(*lowercase, "\u00c9t\u00c9 \u0416A") == "\u00e9t\u00e9 \u0436a");
  CHECK(applied(*lowercase, "\u039f\u03a3") == "\u03bf\u03c3");  // not the sigma of a word's end
  CHECK(applied(*lowercase, "\u0130I") == "i\u0307i");
  CHECK(applied(*lowercase, "\u00df\u2160\U00010400") == "\u00df\u2170\U00010428");
  CHECK(applied(*lowercase, "").empty());
}

TEST_CASE("lower case: letters that have one since Unicode 16 and 17") {
  const auto lowercase = make_lowercase();
  CHECK(applied(*lowercase, "\u1c89\ua7cb\U00010d65\U00016ea0") == "\u1c8a\u0264\U00010d85\U00016ebb");
}

TEST_CASE("accents: marks of every kind go, letters stay whole") {
  const auto accents = make_strip_accents();
  CHECK(applied(*accents, "e\u0301\u0302\u00e9 a") == "e\u00e9 a");
  CHECK(applied(*accents, "\u0915\u093e \u20dd1") == "\u0915 1");  // a spacing mark and an enclosing mark
  CHECK(applied(*accents, "\u0301").empty());
  CHECK(applied(*accents, "plain, \u00ab") == "plain, \u00ab");
}

TEST_CASE("accents: by Unicode 9") {
  const auto accents = make_strip_accents();
  CHECK(applied(*accents, "\u0afa\u07fd\u0897\u1acf") == "\u0afa\u07fd\u0897\u1acf");  // newer marks stay
  CHECK(applied(*accents, "a\u1cf2\u1cf3") == "a");  // marks in Unicode 9, letters now
}

TEST_CASE("letters: text that is not UTF-8 does no harm") {
  CHECK(applied(*make_lowercase(), "A\xC9\xFF") == "a\xC9\xFF");
  CHECK(applied(*make_strip_accents(), "A\xCC") == "A\xCC");
}
