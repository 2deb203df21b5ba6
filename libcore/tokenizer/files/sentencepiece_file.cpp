#include "tokenizer/files/sentencepiece_file.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "base/text/utf8.hpp"
#include "tokenizer/encode/added_tokens.hpp"
#include "tokenizer/encode/bpe.hpp"
#include "tokenizer/encode/charsmap.hpp"
#include "tokenizer/encode/pattern_splitter.hpp"
#include "tokenizer/files/base64.hpp"
#include "tokenizer/files/hf_tokenizer.hpp"

namespace dt::tokenizer {

namespace {

using json = nlohmann::ordered_json;

/// Returns the pieces' ranks. The highest score has rank 0; equal scores have equal ranks.
std::vector<Rank> ranks_of(const SentencePieceModel& model) {
  std::vector<float> scores;
  for (const SentencePiece& piece : model.pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
  std::vector<Rank> ranks;
  for (const SentencePiece& piece : model.pieces) {
    const auto at = std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<>());
    ranks.push_back(static_cast<Rank>(at - scores.begin()));
  }
  return ranks;
}

AddedTokenFinder user_defined(const SentencePieceModel& model) {
  std::vector<AddedToken> tokens;
  for (const SentencePiece& piece : model.pieces) {
    if (piece.type == PieceType::user_defined) tokens.push_back({0, piece.text});
  }
  return AddedTokenFinder(std::move(tokens));
}

/// Returns the pieces that merging may lead to. Nothing merges with a user-defined piece, nor within
/// it.
std::vector<Id> pieces_of_merges(const SentencePieceModel& model) {
  const AddedTokenFinder apart = user_defined(model);
  std::vector<Id> ids;
  for (Id id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    const bool merges = piece.type == PieceType::normal || piece.type == PieceType::unused;
    if (merges && !apart.find(piece.text, {})) ids.push_back(id);
  }
  return ids;
}

/// Gives each character of a piece that is no piece itself an id after all others. In sentencepiece,
/// such a character is a symbol like any other.
void add_missing_characters(const SentencePieceModel& model, const std::vector<Id>& pieces, Bpe& bpe) {
  for (const Id id : pieces) {
    std::string_view rest = model.pieces[id].text;
    while (!rest.empty()) {
      const std::string_view character = rest.substr(0, character_length(rest));
      if (bpe.vocabulary.find(character) == no_id) bpe.vocabulary.set(bpe.vocabulary.size(), character);
      rest.remove_prefix(character.size());
    }
  }
}

void set_pieces(const SentencePieceModel& model, Bpe& bpe) {
  for (Id id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    bpe.vocabulary.set(id, piece.text);
    if (piece.type == PieceType::unknown) bpe.unknown = id;
  }
  for (std::size_t byte = 0; model.byte_fallback && byte < 256; ++byte)
    bpe.byte_ids[byte] = bpe.vocabulary.find(fmt::format("<0x{:02X}>", byte));
  bpe.is_byte_level = false;
  bpe.fuses_unknown = true;
}

void refuse_merges(const SentencePieceModel& model, const MergeTable& merges, const std::string& origin) {
  for (const auto& [left, right] : merges.pairs()) {
    const SentencePiece& piece = model.pieces[merges.find(left, right).merged];
    if (std::max(left, right) >= model.pieces.size())
      throw input_error("{}: '{}' contains a character that is not a piece", origin, piece.text);
    if (piece.type == PieceType::unused)
      throw input_error("{}: '{}' is marked unused but can occur in encoded text, which dt does not support",
                        origin, piece.text);
  }
}

/// Returns the vocabulary, the merges and the unknown piece. SentencePiece gives each piece a score, and
/// merges any two pieces that make one, the highest score first. Pieces of equal score have merges of equal
/// rank.
/// Errors: input, naming `origin` and the piece, if text can become a piece that is unused or has a
/// character that is no piece.
Bpe bpe_of_pieces(const SentencePieceModel& model, const std::string& origin) {
  Bpe learned;
  set_pieces(model, learned);
  const std::vector<Id> pieces = pieces_of_merges(model);
  add_missing_characters(model, pieces, learned);
  learn_merges(pieces, ranks_of(model), learned);
  refuse_merges(model, learned.merges, origin);
  Bpe bpe;
  set_pieces(model, bpe);
  bpe.merges = std::move(learned.merges);
  return bpe;
}

constexpr const char* escaped_space = "\u2581";

json replace(const char* kind, const std::string& pattern, const std::string& content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

json sequence(const char* steps_name, json steps) {
  return {{"type", "Sequence"}, {steps_name, std::move(steps)}};
}

std::vector<std::string> texts_of(const SentencePieceModel& model, PieceType type) {
  std::vector<std::string> texts;
  for (const SentencePiece& piece : model.pieces) {
    if (piece.type == type) texts.push_back(piece.text);
  }
  return texts;
}

json charsmap_step(const SentencePieceModel& model, const std::string& origin) {
  make_charsmap_normalizer(model.charsmap, {});  // throws if the charsmap is invalid
  if (has_rules_for(model.charsmap, ' ') ||
      (model.remove_extra_whitespaces && makes_runs_of_spaces(model.charsmap)))
    throw input_error("{}: dt does not support a precompiled_charsmap with rules for spaces", origin);
  return {{"type", "Precompiled"},
          {"precompiled_charsmap", to_base64(model.charsmap)},
          {"dt_kept", texts_of(model, PieceType::user_defined)}};
}

/// Returns the normalizer. The dummy prefix comes first, so that text of which nothing else is left
/// still has it.
json normalizer_of(const SentencePieceModel& model, const std::string& origin) {
  const std::string space = model.escape_whitespaces ? escaped_space : " ";
  json steps = json::array();
  if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", " "}});
  if (!model.charsmap.empty()) steps.push_back(charsmap_step(model, origin));
  if (model.remove_extra_whitespaces) {
    if (!model.add_dummy_prefix) steps.push_back(replace("Regex", "\\A +", ""));
    steps.push_back(replace("Regex", " {2,}", " "));
  }
  if (model.escape_whitespaces) steps.push_back(replace("String", " ", escaped_space));
  // Only the start of a run of spaces can match. Otherwise a long run would be scanned from each of
  // its spaces.
  if (model.remove_extra_whitespaces)
    steps.push_back(replace("Regex", fmt::format("(?<!{0}){0}+\\z", space), ""));
  return steps.empty() ? json() : sequence("normalizers", std::move(steps));
}

/// Returns whether sentencepiece drops one space of each piece until there is text. The format has
/// no step for this.
bool drops_spaces_by_piece(const SentencePieceModel& model) {
  const bool has_space = std::any_of(model.pieces.begin(), model.pieces.end(),
                                     [](const SentencePiece& piece) { return piece.text == escaped_space; });
  const bool strips_prefix = model.add_dummy_prefix && model.escape_whitespaces && has_space;
  return model.remove_extra_whitespaces || (model.add_dummy_prefix && !strips_prefix);
}

/// Returns steps that turn control pieces into nothing, and the unknown piece into the text that the
/// model gives it.
json replaced_pieces(const SentencePieceModel& model) {
  json steps = json::array();
  std::string control;
  for (const std::string& text : texts_of(model, PieceType::control))
    control += (control.empty() ? "" : "|") + escaped_for_regex(text);
  if (!control.empty()) steps.push_back(replace("Regex", "\\A(?:" + control + ")\\z", ""));
  const std::string unknown = escaped_for_regex(texts_of(model, PieceType::unknown).front());
  steps.push_back(replace("Regex", "\\A" + unknown + "\\z", model.unknown_surface));
  return steps;
}

void append_as_text(const SentencePieceModel& model, json& steps) {
  steps.push_back(replace("String", escaped_space, " "));
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
}

/// Returns the decoder. It removes the prefix that the normalizer adds.
json decoder_of(const SentencePieceModel& model) {
  json steps = replaced_pieces(model);
  append_as_text(model, steps);
  if (model.add_dummy_prefix && model.escape_whitespaces)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  json decoder = sequence("decoders", std::move(steps));
  if (drops_spaces_by_piece(model)) {
    json own = replaced_pieces(model);
    own.push_back(
        {{"type", "StripUntilText"}, {"content", escaped_space}, {"each", model.remove_extra_whitespaces}});
    append_as_text(model, own);
    decoder["dt_decoders"] = std::move(own);
  }
  return decoder;
}

AddedToken added_token(const SentencePieceModel& model, Id id) {
  const SentencePiece& piece = model.pieces[id];
  AddedToken token{id, piece.text};
  token.is_special = piece.type != PieceType::user_defined;
  token.found_in = token.is_special ? FoundIn::nothing : FoundIn::normalized_text;
  // If a step changed text, Hugging Face's tokenizers would normalize the piece, too.
  token.is_normalized = !token.is_special && !model.add_dummy_prefix && !model.remove_extra_whitespaces &&
                        model.charsmap.empty();
  return token;
}

/// Returns control, unknown and user-defined pieces. Text never contains the first two; the encoder
/// looks for user-defined pieces in normalized text.
std::vector<AddedToken> added_tokens_of(const SentencePieceModel& model, const std::string& origin) {
  std::vector<AddedToken> tokens;
  for (Id id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    const bool is_user_defined = piece.type == PieceType::user_defined;
    if (is_user_defined && piece.text.find(' ') != std::string::npos)
      throw input_error("{}: the user-defined piece '{}' contains a space, which dt does not support", origin,
                        piece.text);
    const bool is_special = piece.type == PieceType::control || piece.type == PieceType::unknown;
    if (is_special && character_length(piece.text) == piece.text.size())
      throw input_error(
          "{}: the control or unknown piece '{}' is a single character, which dt does not support", origin,
          piece.text);
    if (is_user_defined || is_special) tokens.push_back(added_token(model, id));
  }
  return tokens;
}

std::string json_text(const json& value) {
  return value.is_null() ? "" : value.dump();
}

}  // namespace

std::string sentencepiece_as_hugging_face(std::string_view bytes, const std::string& origin) {
  const SentencePieceModel model = read_sentencepiece_model(bytes, origin);
  const HfSteps steps{json_text(normalizer_of(model, origin)), {}, json_text(decoder_of(model))};
  return hugging_face_text(bpe_of_pieces(model, origin), steps, added_tokens_of(model, origin));
}

}  // namespace dt::tokenizer
