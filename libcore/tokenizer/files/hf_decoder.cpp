#include "tokenizer/files/hf_parts.hpp"

namespace dt::tokenizer {

namespace {

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

std::unique_ptr<DecodeStep> read_metaspace(const JsonValue& step) {
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
    throw unknown_kind(step, "ByteLevel and Fuse, where the pre-tokenizer is ByteLevel");
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
    decoder.steps.push_back(read_metaspace(step));
  } else {
    throw unknown_kind(step, "ByteLevel, Fuse, ByteFallback, Replace, Strip, Metaspace, Sequence");
  }
}

}  // namespace

Decoder read_decoder(const JsonValue& step, bool is_byte_level) {
  Decoder decoder;
  read_steps(step, is_byte_level, decoder);
  return decoder;
}

}  // namespace dt::tokenizer
