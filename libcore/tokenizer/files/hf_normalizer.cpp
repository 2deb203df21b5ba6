#include <algorithm>

#include "tokenizer/encode/charsmap.hpp"
#include "tokenizer/encode/letter_normalizers.hpp"
#include "tokenizer/encode/regex_splitter.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_parts.hpp"

namespace dt::tokenizer {

namespace {

std::unique_ptr<Normalizer> read_replacement(const JsonValue& step) {
  const auto plain = step.at("pattern").find("String");
  if (!plain || plain->string().empty())
    return make_regex_replacement(regex_of_pattern(step), step.at("content").string());
  return make_replacement(plain->string(), step.at("content").string());
}

std::unique_ptr<Normalizer> read_precompiled(const JsonValue& step) {
  const JsonValue charsmap = step.at("precompiled_charsmap");
  auto bytes = from_base64(charsmap.string());
  if (!bytes) throw charsmap.error("is no base64");
  std::vector<std::string> kept;
  if (const auto list = step.find("dt_kept")) {
    for (const JsonValue& text : list->items()) kept.push_back(text.string());
  }
  if (std::find(kept.begin(), kept.end(), "") != kept.end()) throw step.at("dt_kept").error("one is empty");
  return make_charsmap_normalizer(std::move(*bytes), kept);
}

std::unique_ptr<Normalizer> read_sequence(const JsonValue& step) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const JsonValue& item : step.at("normalizers").items()) steps.push_back(read_normalizer(item));
  return make_normalizers(std::move(steps));
}

}  // namespace

std::string regex_of_pattern(const JsonValue& step) {
  const JsonValue pattern = step.at("pattern");
  if (const auto regex = pattern.find("Regex")) return regex->string();
  return escaped_for_regex(pattern.at("String").string());
}

std::unique_ptr<Normalizer> read_normalizer(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") return read_sequence(step);
  if (type == "NFC") return make_unicode_normalizer(UnicodeForm::nfc);
  if (type == "NFD") return make_unicode_normalizer(UnicodeForm::nfd);
  if (type == "NFKC") return make_unicode_normalizer(UnicodeForm::nfkc);
  if (type == "NFKD") return make_unicode_normalizer(UnicodeForm::nfkd);
  if (type == "Replace") return read_replacement(step);
  if (type == "Prepend") return make_prefix(step.at("prepend").string(), Prepend::always);
  if (type == "Precompiled") return read_precompiled(step);
  if (type == "Strip") return make_strip(step.boolean("strip_left", true), step.boolean("strip_right", true));
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return make_strip_accents();
  throw unknown_kind(step,
                     "NFC, NFD, NFKC, NFKD, Replace, Prepend, Precompiled, Strip, Lowercase, "
                     "StripAccents, Sequence");
}

}  // namespace dt::tokenizer
