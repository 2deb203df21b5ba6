#include "tokenizer/tiktoken_file.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "tokenizer/base64.hpp"
#include "tokenizer/hf_writer.hpp"
#include "tokenizer/learn_merges.hpp"
#include "tokenizer/regex_splitter.hpp"
#include "tokenizer/scanners.hpp"

namespace dt::tokenizer {

namespace {

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

/// The file says which tokens there are, and tiktoken merges whatever two make one, by its rank.
void add_merges(Bpe& bpe) {
  std::vector<Rank> ranks(bpe.vocabulary.size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  learn_merges(ranks, ranks, bpe);
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

Bpe bpe_of_ranks(Vocabulary vocabulary, const std::string& origin) {
  Bpe bpe;
  bpe.vocabulary = std::move(vocabulary);
  bpe.takes_whole_pieces = true;
  set_byte_ids(bpe, origin);
  add_merges(bpe);
  return bpe;
}

Tokenizer read_tiktoken(std::string_view text, const std::string& origin, const std::string& pattern) {
  Tokenizer tokenizer;
  tokenizer.bpe = bpe_of_ranks(read_tokens(text, origin), origin);
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
