#include "tokenizer/files/hf_parts.hpp"

#include <algorithm>

#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/encode/charsmap.hpp"
#include "tokenizer/encode/normalizer.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/base64.hpp"

namespace dt::tokenizer {

Error unknown_kind(const JsonValue& step, const std::string& known) {
  const JsonValue type = step.at("type");
  return type.error(fmt::format("the type \"{}\" is not supported", type.string()), "dt supports " + known);
}

std::string regex_of_pattern(const JsonValue& step) {
  const JsonValue pattern = step.at("pattern");
  if (const auto regex = pattern.find("Regex")) return regex->string();
  return escaped_for_regex(pattern.at("String").string());
}

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
  if (!bytes) throw charsmap.error("is not valid base64");
  std::vector<std::string> kept;
  if (const auto list = step.find("dt_kept")) {
    for (const JsonValue& text : list->items()) kept.push_back(text.string());
  }
  if (std::find(kept.begin(), kept.end(), "") != kept.end())
    throw step.at("dt_kept").error("contains an empty text");
  return make_charsmap_normalizer(std::move(*bytes), kept);
}

std::unique_ptr<Normalizer> read_normalizers(const JsonValue& step) {
  std::vector<std::unique_ptr<Normalizer>> steps;
  for (const JsonValue& item : step.at("normalizers").items()) steps.push_back(read_normalizer(item));
  return make_normalizers(std::move(steps));
}

/// Returns punctuation of ASCII and of the Unicode 8 that Hugging Face's tokenizers have for it.
CodePointSet punctuation() {
  const CodePointSet newer = {
      {0x61d, 0x61d},     {0x9fd, 0x9fd},     {0xa76, 0xa76},     {0xc77, 0xc77},     {0xc84, 0xc84},
      {0x1b4e, 0x1b4f},   {0x1b7d, 0x1b7f},   {0x2e43, 0x2e4f},   {0x2e52, 0x2e5d},   {0x10d6e, 0x10d6e},
      {0x10ead, 0x10ead}, {0x10f55, 0x10f59}, {0x10f86, 0x10f89}, {0x113d4, 0x113d8}, {0x1144b, 0x1145d},
      {0x11660, 0x1166c}, {0x116b9, 0x116b9}, {0x1183b, 0x1183b}, {0x11944, 0x11946}, {0x119e2, 0x119e2},
      {0x11a3f, 0x11b09}, {0x11be1, 0x11be1}, {0x11c41, 0x11c71}, {0x11ef7, 0x11fff}, {0x12ff1, 0x12ff2},
      {0x16d6d, 0x16d6f}, {0x16e97, 0x16e9a}, {0x16fe2, 0x16fe2}, {0x1e5ff, 0x1e5ff}, {0x1e95e, 0x1e95f}};
  const CodePointSet more = {{'!', '/'}, {':', '@'},       {'[', '`'},
                             {'{', '~'}, {0x166d, 0x166d}, {0x111c9, 0x111c9}};
  return (property("p") | more) - newer;
}

constexpr const char* known_kinds =
    "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace, Sequence";

SplitBehavior read_behavior(const JsonValue& step, const std::string& otherwise) {
  const std::string name = step.string("behavior", otherwise);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  throw step.at("behavior").error(fmt::format("\"{}\" is not supported", name));
}

std::unique_ptr<PreTokenizer> read_split(const JsonValue& step) {
  const bool invert = step.boolean("invert", false);
  const SplitBehavior behavior = read_behavior(step, "Isolated");
  const auto text = step.at("pattern").find("String");
  if (text && !text->string().empty()) return make_text_splitter(text->string(), behavior, invert);
  const std::string regex = regex_of_pattern(step);
  // Known patterns match all of a text, so nothing lies between matches.
  const bool takes_matches =
      invert ? behavior == SplitBehavior::removed : behavior == SplitBehavior::isolated;
  const auto known = takes_matches ? pattern_of_regex(regex) : std::nullopt;
  return known ? make_scanner(*known)
               : make_regex_splitter(regex, behavior, invert, step.boolean("dt_must_cover", false));
}

/// Reads a step that only splits. Returns null for a step of another kind.
std::unique_ptr<PreTokenizer> read_splitter(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Split") return read_split(step);
  if (type == "Digits") {
    const bool each = step.boolean("individual_digits", false);
    return make_character_splitter(property("n"), each ? SplitBehavior::isolated : SplitBehavior::contiguous);
  }
  if (type == "Punctuation") return make_character_splitter(punctuation(), read_behavior(step, "Isolated"));
  if (type == "Whitespace") return make_word_and_punctuation_splitter();
  if (type == "WhitespaceSplit")
    return make_character_splitter(property("whitespace"), SplitBehavior::removed);
  return nullptr;
}

HfPreTokenizer read_byte_level(const JsonValue& step) {
  HfPreTokenizer result;
  result.is_byte_level = true;
  if (step.boolean("add_prefix_space", true)) result.preparer = make_prefix(" ", Prepend::unless_there);
  if (step.boolean("use_regex", true)) result.splitter = make_scanner(Pattern::gpt2);
  return result;
}

Prepend read_prepend_scheme(const JsonValue& step) {
  const std::string scheme = step.string("prepend_scheme", "always");
  if (scheme == "always") return Prepend::unless_there;
  if (scheme == "first") return Prepend::if_first_unless_there;
  throw step.at("prepend_scheme").error(fmt::format("\"{}\" is not supported", scheme));
}

HfPreTokenizer read_metaspace(const JsonValue& step) {
  const std::string replacement = step.string("replacement", "\u2581");
  if (replacement.empty()) throw step.at("replacement").error("is empty");
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_replacement(" ", replacement));
  const bool prepends =
      step.boolean("add_prefix_space", true) && step.string("prepend_scheme", "always") != "never";
  if (prepends) steps.push_back(make_prefix(replacement, read_prepend_scheme(step)));
  HfPreTokenizer result;
  result.preparer = make_normalizers(std::move(steps));
  if (step.boolean("split", true))
    result.splitter = make_text_splitter(replacement, SplitBehavior::merged_with_next);
  return result;
}

void check_follows(const JsonValue& item, const HfPreTokenizer& next, bool is_byte_level, bool is_split) {
  if (is_byte_level && (next.is_byte_level || next.preparer))
    throw item.error("a step that changes text after ByteLevel is not supported");
  if (is_split && next.preparer)
    throw item.error("a step that changes text after a step that splits it is not supported");
}

HfPreTokenizer read_pre_tokenizers(const JsonValue& step) {
  HfPreTokenizer result;
  std::vector<std::unique_ptr<Normalizer>> preparers;
  std::vector<std::unique_ptr<PreTokenizer>> splitters, of_alphabet;
  for (const JsonValue& item : step.at("pretokenizers").items()) {
    HfPreTokenizer next = read_pre_tokenizer(item);
    check_follows(item, next, result.is_byte_level, !splitters.empty());
    if (next.preparer) preparers.push_back(std::move(next.preparer));
    if (next.splitter) (result.is_byte_level ? of_alphabet : splitters).push_back(std::move(next.splitter));
    result.is_byte_level = result.is_byte_level || next.is_byte_level;
  }
  if (!preparers.empty()) result.preparer = make_normalizers(std::move(preparers));
  if (!splitters.empty()) result.splitter = make_sequence(std::move(splitters));
  if (!of_alphabet.empty())
    result.splitter =
        make_alphabet_splitter(std::move(result.splitter), make_sequence(std::move(of_alphabet)));
  return result;
}

/// Returns a text that a step removes or replaces.
/// Errors: input if the text is empty: every text contains an empty text without end.
std::string not_empty(const JsonValue& text) {
  if (text.string().empty()) throw text.error("is empty");
  return text.string();
}

std::unique_ptr<DecodeStep> read_strip(const JsonValue& step) {
  return make_decode_strip(not_empty(step.at("content")), step.at("start").unsigned_integer(),
                           step.at("stop").unsigned_integer());
}

std::unique_ptr<DecodeStep> read_metaspace_decoder(const JsonValue& step) {
  const bool prepends =
      step.boolean("add_prefix_space", true) && step.string("prepend_scheme", "always") != "never";
  const auto replacement = step.find("replacement");
  return make_metaspace_decoder(replacement ? not_empty(*replacement) : "\u2581", prepends);
}

void read_steps(const JsonValue& step, bool is_byte_level, Decoder& decoder) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") {
    const auto own = step.find("dt_decoders");
    for (const JsonValue& item : (own ? *own : step.at("decoders")).items())
      read_steps(item, is_byte_level, decoder);
  } else if (is_byte_level && type == "ByteLevel") {
    decoder.steps.push_back(make_fuse());
  } else if (is_byte_level && type != "Fuse") {
    throw unknown_kind(step, "ByteLevel and Fuse with a ByteLevel pre-tokenizer");
  } else if (type == "Fuse") {
    decoder.steps.push_back(make_fuse());
  } else if (type == "ByteFallback") {
    decoder.steps.push_back(make_byte_fallback());
  } else if (type == "Replace") {
    decoder.steps.push_back(make_decode_replacement(read_normalizer(step)));
  } else if (type == "Strip") {
    decoder.steps.push_back(read_strip(step));
  } else if (type == "StripUntilText") {
    decoder.steps.push_back(
        make_strip_until_text(not_empty(step.at("content")), step.boolean("each", false)));
  } else if (type == "Metaspace") {
    decoder.steps.push_back(read_metaspace_decoder(step));
  } else {
    throw unknown_kind(step, "ByteLevel, Fuse, ByteFallback, Replace, Strip, Metaspace, Sequence");
  }
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") return read_normalizers(step);
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

HfPreTokenizer read_pre_tokenizer(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") return read_pre_tokenizers(step);
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Metaspace") return read_metaspace(step);
  HfPreTokenizer result;
  result.splitter = read_splitter(step);
  if (!result.splitter) throw unknown_kind(step, known_kinds);
  return result;
}

Decoder read_decoder(const JsonValue& step, bool is_byte_level) {
  Decoder decoder;
  read_steps(step, is_byte_level, decoder);
  return decoder;
}

}  // namespace dt::tokenizer
