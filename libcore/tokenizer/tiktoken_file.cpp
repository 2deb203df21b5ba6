#include "tokenizer/tiktoken_file.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "tokenizer/hf_writer.hpp"
#include "tokenizer/merger.hpp"
#include "tokenizer/regex_splitter.hpp"
#include "tokenizer/scanners.hpp"

namespace dt::tokenizer {

namespace {

/// Standard base64 with padding; nothing where it is none, or empty.
std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int num_bits = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes += static_cast<char>(bits >> num_bits);
  }
  return bytes.empty() ? std::nullopt : std::optional(bytes);
}

struct Line {
  std::string bytes;
  Id id;
};

std::optional<Line> parse_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  auto bytes = from_base64(line.substr(0, space));
  Id id = 0;
  const auto [end, error] = std::from_chars(line.data() + space + 1, line.data() + line.size(), id);
  if (!bytes || error != std::errc() || end != line.data() + line.size() || id >= max_vocabulary)
    return std::nullopt;
  return Line{std::move(*bytes), id};
}

std::string_view first_line(std::string_view text) {
  std::string_view line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Vocabulary read_tokens(std::string_view text, const std::string& origin) {
  Vocabulary vocabulary;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = first_line(text);
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (line.empty()) continue;
    const auto token = parse_line(line);
    if (!token) throw input_error("{}:{}: a token in base64 and its rank are expected", origin, number);
    if (vocabulary.has(token->id))
      throw input_error("{}:{}: there are two tokens of rank {}", origin, number, token->id);
    if (vocabulary.find(token->bytes) != no_id)
      throw input_error("{}:{}: the token is there twice", origin, number);
    vocabulary.set(token->id, token->bytes);
  }
  return vocabulary;
}

void set_byte_ids(Bpe& bpe, const std::string& origin) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const Id id = bpe.vocabulary.find({&text, 1});
    if (id == no_id) throw input_error("{}: no token is the byte 0x{:02x}", origin, byte);
    bpe.byte_ids[static_cast<std::size_t>(byte)] = id;
  }
}

/// The file says which tokens there are, and tiktoken merges whatever two make one, by its rank. But a
/// token's bytes only ever come to be from one pair: as long as nothing merges across their borders, merges
/// within them come in the same order whatever stands around, so the pair is what they are before the last
/// merge. Shorter tokens decide it, so these go first. Bytes that never come down to two are taken as whole
/// pieces only.
void learn_merges(Bpe& bpe) {
  std::vector<Id> by_length(bpe.vocabulary.size());
  std::iota(by_length.begin(), by_length.end(), Id{0});
  std::stable_sort(by_length.begin(), by_length.end(), [&](Id a, Id b) {
    return bpe.vocabulary.bytes(a).size() < bpe.vocabulary.bytes(b).size();
  });
  Merger merger(bpe.merges);
  std::vector<Id> symbols, parts;
  for (const Id id : by_length) {
    if (bpe.vocabulary.bytes(id).size() < 2) continue;
    symbols.clear();
    parts.clear();
    append_symbols(bpe, bpe.vocabulary.bytes(id), symbols);
    merger.merge(symbols, parts);
    if (parts.size() == 2) bpe.merges.add(parts[0], parts[1], {id, id});
  }
}

std::optional<Pattern> known_pattern(const std::string& pattern) {
  const auto named = pattern_of_name(pattern);
  return named ? named : pattern_of_regex(pattern);
}

std::unique_ptr<PreTokenizer> splitter_of(const std::string& pattern) {
  const auto known = known_pattern(pattern);
  return known ? make_scanner(*known) : make_regex_splitter(pattern, SplitBehavior::matches_only);
}

/// Their ids follow the file's. Llama 3 and cl100k have one before the text's end.
std::vector<AddedToken> special_tokens(std::optional<Pattern> pattern, Id first) {
  std::vector<std::string> contents = {"<|endoftext|>"};
  if (pattern == Pattern::llama3) contents = {"<|begin_of_text|>", "<|end_of_text|>"};
  if (pattern == Pattern::cl100k) contents = {"<|reserved|>", "<|endoftext|>"};
  std::vector<AddedToken> tokens;
  for (const std::string& content : contents) tokens.push_back({first++, content, true});
  return tokens;
}

}  // namespace

bool is_tiktoken_file(std::string_view text) {
  return parse_line(first_line(text)).has_value();
}

Tokenizer read_tiktoken(std::string_view text, const std::string& origin, const std::string& pattern) {
  Tokenizer tokenizer;
  tokenizer.bpe.vocabulary = read_tokens(text, origin);
  tokenizer.bpe.takes_whole_pieces = true;
  set_byte_ids(tokenizer.bpe, origin);
  learn_merges(tokenizer.bpe);
  tokenizer.pre_tokenizer = splitter_of(pattern);
  return tokenizer;
}

std::string tiktoken_as_hugging_face(std::string_view text, const std::string& origin,
                                     const std::string& pattern) {
  const Tokenizer tokenizer = read_tiktoken(text, origin, pattern);
  const Vocabulary& vocabulary = tokenizer.bpe.vocabulary;
  for (Id id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id))
      throw input_error("{}: no token has the rank {}, which a tokenizer.json cannot say", origin, id);
  }
  const auto known = known_pattern(pattern);
  return hugging_face_text(tokenizer.bpe, known ? regex_of_pattern(*known) : pattern,
                           special_tokens(known, vocabulary.size()));
}

}  // namespace dt::tokenizer
