#include "tokenizer/alphabet_splitter.hpp"
#include "tokenizer/hf_parts.hpp"
#include "tokenizer/regex_splitter.hpp"
#include "tokenizer/scanners.hpp"
#include "tokenizer/word_characters.hpp"

namespace dt::tokenizer {

namespace {

/// Punctuation of ASCII and of the Unicode 8 that Hugging Face's tokenizers have for it.
constexpr const char* punctuation =
    R"((?![\x{61d}\x{9fd}\x{a76}\x{c77}\x{c84}\x{1b4e}\x{1b4f}\x{1b7d}-\x{1b7f}\x{2e43}-\x{2e4f}\x{2e52}-\x{2e5d}\x{10d6e}\x{10ead})"
    R"(\x{10f55}-\x{10f59}\x{10f86}-\x{10f89}\x{113d4}-\x{113d8}\x{1144b}-\x{1145d}\x{11660}-\x{1166c}\x{116b9}\x{1183b})"
    R"(\x{11944}-\x{11946}\x{119e2}\x{11a3f}-\x{11b09}\x{11be1}\x{11c41}-\x{11c71}\x{11ef7}-\x{11fff}\x{12ff1}\x{12ff2})"
    R"(\x{16d6d}-\x{16d6f}\x{16e97}-\x{16e9a}\x{16fe2}\x{1e5ff}\x{1e95e}\x{1e95f}])[!-/:-@\[-`{-~\p{P}\x{166d}\x{111c9}])";

constexpr const char* known_kinds =
    "ByteLevel, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, Metaspace, Sequence";

SplitBehavior read_behavior(const JsonValue& step, const std::string& otherwise) {
  const std::string name = step.string("behavior", otherwise);
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  throw step.at("behavior").error(fmt::format("\"{}\" is unknown", name));
}

std::unique_ptr<PreTokenizer> read_split(const JsonValue& step) {
  const std::string regex = regex_of_pattern(step);
  const bool invert = step.boolean("invert", false);
  const SplitBehavior behavior = read_behavior(step, "Isolated");
  // The known patterns match all of a text: what lies between is nothing.
  const bool takes_matches =
      invert ? behavior == SplitBehavior::removed : behavior == SplitBehavior::isolated;
  const auto known = takes_matches ? pattern_of_regex(regex) : std::nullopt;
  return known ? make_scanner(*known) : make_regex_splitter(regex, behavior, invert);
}

/// A step that only splits; null where it is of another kind.
std::unique_ptr<PreTokenizer> read_splitter(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Split") return read_split(step);
  if (type == "Digits") {
    const bool each = step.boolean("individual_digits", false);
    return make_regex_splitter(each ? "\\p{N}" : "\\p{N}+", SplitBehavior::isolated);
  }
  if (type == "Punctuation") return make_regex_splitter(punctuation, read_behavior(step, "Isolated"));
  if (type == "Whitespace")
    return make_regex_splitter(fmt::format(R"([{0}]+|[^{0}\s]+)", word_characters),
                               SplitBehavior::matches_only);
  if (type == "WhitespaceSplit") return make_regex_splitter("\\s", SplitBehavior::removed);
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
  throw step.at("prepend_scheme").error(fmt::format("\"{}\" is unknown", scheme));
}

HfPreTokenizer read_metaspace(const JsonValue& step) {
  const std::string replacement = step.string("replacement", "\u2581");
  std::vector<std::unique_ptr<Normalizer>> steps;
  steps.push_back(make_replacement(" ", replacement));
  const bool prepends =
      step.boolean("add_prefix_space", true) && step.string("prepend_scheme", "always") != "never";
  if (prepends) steps.push_back(make_prefix(replacement, read_prepend_scheme(step)));
  HfPreTokenizer result;
  result.preparer = make_normalizers(std::move(steps));
  if (step.boolean("split", true))
    result.splitter = make_regex_splitter(escaped_for_regex(replacement), SplitBehavior::merged_with_next);
  return result;
}

void check_follows(const JsonValue& item, const HfPreTokenizer& next, bool is_byte_level, bool is_split) {
  if (is_byte_level && (next.is_byte_level || next.preparer))
    throw item.error("a step that changes text after ByteLevel is not followed");
  if (is_split && next.preparer)
    throw item.error("a step that changes text after one that splits it is not followed");
}

HfPreTokenizer read_sequence(const JsonValue& step) {
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

}  // namespace

HfPreTokenizer read_pre_tokenizer(const JsonValue& step) {
  const std::string type = step.at("type").string();
  if (type == "Sequence") return read_sequence(step);
  if (type == "ByteLevel") return read_byte_level(step);
  if (type == "Metaspace") return read_metaspace(step);
  HfPreTokenizer result;
  result.splitter = read_splitter(step);
  if (!result.splitter) throw unknown_kind(step, known_kinds);
  return result;
}

}  // namespace dt::tokenizer
