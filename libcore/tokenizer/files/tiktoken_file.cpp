#include "tokenizer/files/tiktoken_file.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/encode/scanners.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"
#include "tokenizer/files/tiktoken_regex.hpp"

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
    if (!token) throw input_error("{}:{}: expected a token in base64 and its rank", origin, number);
    if (vocabulary.has(token->id))
      throw input_error("{}:{}: two tokens have rank {}", origin, number, token->id);
    if (vocabulary.find(token->bytes) != no_id)
      throw input_error("{}:{}: the token is listed twice", origin, number);
    vocabulary.set(token->id, token->bytes);
  }
  return vocabulary;
}

void set_byte_ids(Bpe& bpe, const std::string& origin) {
  for (int byte = 0; byte < 256; ++byte) {
    const char text = static_cast<char>(byte);
    const Id id = bpe.vocabulary.find({&text, 1});
    if (id == no_id) throw input_error("{}: no token stands for the byte 0x{:02x}", origin, byte);
    bpe.byte_ids[static_cast<std::size_t>(byte)] = id;
  }
}

/// Adds the merges of any two tokens that make one, by its rank, as tiktoken merges. The file only says
/// which tokens there are.
void add_merges(Bpe& bpe) {
  std::vector<Rank> ranks(bpe.vocabulary.size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  learn_merges(ranks, ranks, bpe);
}

std::optional<Pattern> known_pattern(const std::string& pattern) {
  const auto named = parse_name<Pattern>(pattern);
  return named ? named : pattern_of_tiktoken_regex(pattern);
}

std::unique_ptr<PreTokenizer> splitter_of(const std::string& pattern) {
  const auto known = known_pattern(pattern);
  if (known) return make_scanner(*known);
  return make_regex_splitter(regex_of_tiktoken(pattern), SplitBehavior::removed, true, true);
}

struct SpecialToken {
  const char* content;
  Id id;
};

/// A published encoding, recognized by its pattern and number of ranks, with its special tokens.
/// Source: tiktoken_ext/openai_public.py; Llama 3's and Qwen's own tokenizers.
struct KnownEncoding {
  Pattern pattern;
  Id num_ranks;
  std::initializer_list<SpecialToken> special_tokens;
};

const KnownEncoding known_encodings[] = {
    {Pattern::gpt2, 50256, {{"<|endoftext|>", 50256}}},  // r50k, GPT-2
    {Pattern::gpt2, 50280, {{"<|endoftext|>", 50256}}},  // p50k
    {Pattern::cl100k,
     100256,
     {{"<|endoftext|>", 100257},
      {"<|fim_prefix|>", 100258},
      {"<|fim_middle|>", 100259},
      {"<|fim_suffix|>", 100260},
      {"<|endofprompt|>", 100276}}},
    {Pattern::o200k, 199998, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
    {Pattern::llama3,
     128000,
     {{"<|begin_of_text|>", 128000},
      {"<|end_of_text|>", 128001},
      {"<|start_header_id|>", 128006},
      {"<|end_header_id|>", 128007},
      {"<|eot_id|>", 128009}}},
    {Pattern::qwen2, 151643, {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}}};

Id number_of_tokens(const Vocabulary& vocabulary) {
  Id count = 0;
  for (Id id = 0; id < vocabulary.size(); ++id) count += vocabulary.has(id) ? 1 : 0;
  return count;
}

std::vector<AddedToken> special_tokens(std::optional<Pattern> pattern, const Vocabulary& vocabulary) {
  const Id num_ranks = number_of_tokens(vocabulary);
  for (const KnownEncoding& known : known_encodings) {
    if (known.pattern != pattern || known.num_ranks != num_ranks) continue;
    std::vector<AddedToken> tokens;
    for (const SpecialToken& token : known.special_tokens) {
      if (vocabulary.has(token.id)) return {};  // another encoding with as many ranks
      tokens.push_back({token.id, token.content, true});
    }
    return tokens;
  }
  return {};
}

/// Adds `eos` behind all others, unless it is a token already.
void add_eos(const std::string& eos, const Vocabulary& vocabulary, std::vector<AddedToken>& tokens) {
  const auto is_eos = [&](const AddedToken& token) { return token.content == eos; };
  if (eos.empty() || std::ranges::any_of(tokens, is_eos) || vocabulary.find(eos) != no_id) return;
  tokens.push_back({std::max(vocabulary.size(), tokens.empty() ? 0 : tokens.back().id + 1), eos, true});
}

}  // namespace

bool is_tiktoken_file(std::string_view text) {
  return parse_line(first_line(text)).has_value();
}

Tokenizer read_tiktoken(std::string_view text, const std::string& origin, const std::string& pattern) {
  Tokenizer tokenizer;
  tokenizer.bpe = bpe_of_ranks(read_tokens(text, origin), origin);
  tokenizer.pre_tokenizer = splitter_of(pattern);
  return tokenizer;
}

std::string tiktoken_as_hugging_face(std::string_view text, const std::string& origin,
                                     const std::string& pattern, const std::string& eos) {
  Bpe bpe = read_tiktoken(text, origin, pattern).bpe;
  const auto known = known_pattern(pattern);
  std::vector<AddedToken> tokens = special_tokens(known, bpe.vocabulary);
  add_eos(eos, bpe.vocabulary, tokens);
  // Tokens in the vocabulary keep their ids, whatever gaps there are before them.
  for (const AddedToken& token : tokens) bpe.vocabulary.set_unfindable(token.id, token.content);
  return hugging_face_text(bpe, regex_of_tiktoken_pattern(pattern), tokens);
}

std::string regex_of_tiktoken_pattern(const std::string& pattern) {
  const auto known = known_pattern(pattern);
  return known ? regex_of_pattern(*known) : regex_of_tiktoken(pattern);
}

Bpe bpe_of_ranks(Vocabulary vocabulary, const std::string& origin) {
  Bpe bpe;
  bpe.vocabulary = std::move(vocabulary);
  bpe.takes_whole_pieces = true;
  set_byte_ids(bpe, origin);
  add_merges(bpe);
  return bpe;
}

}  // namespace dt::tokenizer
