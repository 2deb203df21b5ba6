#include "tokenizer/encode/normalizer.hpp"

#include <catch2/catch.hpp>

#include "base/test_folder.hpp"
#include "tokenizer/encode/bounded_text.hpp"

using namespace dt::tokenizer;

namespace {

std::string applied(const Normalizer& normalizer, const std::string& text, bool is_first = true) {
  BoundedText buffer(1000);  // bytes
  buffer.append("what was there");
  return std::string(normalizer.apply(text, is_first, buffer));
}

}  // namespace

TEST_CASE("normalizers: Unicode's forms") {
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfc), "e\u0301 \u212b \ufb01") ==
        "\u00e9 \u00c5 \ufb01");
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfd), "\u00e9") == "e\u0301");
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfkc), "\ufb01 e\u0301") == "fi \u00e9");
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfkd), "\ufb01\u00e9") == "fie\u0301");
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfc), std::string("a\0\u0301", 4)) ==
        std::string("a\0\u0301", 4));
}

TEST_CASE("normalizers: characters that are new since Unicode 10 stay where they are") {
  // U+0EBA has combining class 9 since Unicode 12, and follows U+0F71 of class 129.
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfc), "\u0f71\u0eba") == "\u0f71\u0eba");
  CHECK(applied(*make_unicode_normalizer(UnicodeForm::nfc), "e\u0301\u0ebae\u0301") == "\u00e9\u0eba\u00e9");
}

TEST_CASE("normalizers: text that is not UTF-8 is refused where it matters") {
  CHECK(dt_test::caught([] {
          applied(*make_unicode_normalizer(UnicodeForm::nfc), "\xFFz");
        }).says("cannot be normalized"));
}

TEST_CASE("normalizers: replacements, prefixes, strips, and several of them") {
  CHECK(applied(*make_replacement(" ", "\u2581"), " a b ") ==
        "\u2581"
        "a\u2581"
        "b\u2581");
  CHECK(applied(*make_regex_replacement(" +", "_"), "a  b c") == "a_b_c");
  CHECK(applied(*make_prefix("_", Prepend::always), "_a") == "__a");
  CHECK(applied(*make_prefix("_", Prepend::unless_there), "_a") == "_a");
  CHECK(applied(*make_prefix("_", Prepend::unless_there), "a", false) == "_a");
  CHECK(applied(*make_prefix("_", Prepend::if_first_unless_there), "a", false) == "a");
  CHECK(applied(*make_prefix("_", Prepend::always), "").empty());
  CHECK(applied(*make_strip(true, false), " \u3000a ") == "a ");
  CHECK(applied(*make_strip(true, true), " \n").empty());
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_replacement("a", "bb"));
  steps.push_back(make_strip(true, true));
  steps.push_back(make_prefix("_", Prepend::always));
  steps.push_back(make_strip(false, true));
  CHECK(applied(*make_normalizers(std::move(steps)), " xay ") == "_xbby");
}

TEST_CASE("normalizers: several that end in a strip may be one of several") {
  const std::string xs(100, 'x');  // longer than a string holds without an allocation
  for (const bool strips_left : {false, true}) {
    std::vector<std::unique_ptr<Normalizer>> inner, outer;
    inner.push_back(make_replacement("a", "b"));
    inner.push_back(make_strip(strips_left, true));
    outer.push_back(make_normalizers(std::move(inner)));
    outer.push_back(make_replacement("b", "cc"));
    outer.push_back(make_replacement("c", "de"));
    const auto both = make_normalizers(std::move(outer));
    const std::string left = strips_left ? "" : " ";
    CHECK(applied(*both, " a b ") == left + "dede dede");
    CHECK(applied(*both, " a" + xs + "b ") == left + "dede" + xs + "dede");
  }
}

TEST_CASE("normalizers: no step makes more text than the buffer takes") {
  const auto refuses = [](const Normalizer& normalizer, const std::string& text) {
    return dt_test::caught([&] { applied(normalizer, text); }).says("more than 64-fold");
  };
  const std::string hundred(100, 'b'), thousand(1000, 'b');
  CHECK(applied(*make_replacement("a", hundred), std::string(10, 'a')) == thousand);
  CHECK(refuses(*make_replacement("a", hundred), std::string(11, 'a')));
  CHECK(refuses(*make_replacement("a", hundred), std::string(10, 'a') + "."));
  CHECK(refuses(*make_regex_replacement("a", hundred), std::string(11, 'a')));
  CHECK(refuses(*make_prefix(hundred, Prepend::always), std::string(901, 'a')));
  CHECK(refuses(*make_unicode_normalizer(UnicodeForm::nfkc), std::string(998, 'a') + "\ufb01b"));
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (int i = 0; i < 100; ++i) steps.push_back(make_replacement("a", "aa"));
  CHECK(refuses(*make_normalizers(std::move(steps)), "a"));
}

TEST_CASE("normalizers: what each place of a text is compared with is bounded") {
  CHECK(applied(*make_replacement(std::string(1024, 'a'), "b"), std::string(500, 'a')) ==
        std::string(500, 'a'));
  CHECK(dt_test::caught([] { make_replacement(std::string(1025, 'a'), "b"); }).kind == dt::ErrorKind::input);
}

TEST_CASE("normalizers: those that run a regular expression say so, within others too") {
  CHECK(make_regex_replacement("a+", "b")->runs_regex());
  CHECK(!make_replacement("a", "b")->runs_regex());
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_replacement("a", "b"));
  steps.push_back(make_strip(true, true));
  CHECK(!make_normalizers(std::move(steps))->runs_regex());
  steps.clear();
  steps.push_back(make_replacement("a", "b"));
  steps.push_back(make_regex_replacement("a+", "b"));
  CHECK(make_normalizers(std::move(steps))->runs_regex());
}
