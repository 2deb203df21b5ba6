#include "tokenizer/encode/encoder.hpp"

#include <algorithm>

#include "base/numeric/digest.hpp"

namespace dt::tokenizer {

namespace {

// Sizes of a LongPieceCache.
constexpr std::size_t num_entries = 1 << 15;
constexpr std::size_t most_text_bytes = 2 << 20;

}  // namespace

LongPieceCache::LongPieceCache() : entries_(num_entries) {
  text_.reserve(most_text_bytes);
}

std::span<const Id> LongPieceCache::find(std::string_view piece) const {
  const std::uint64_t key = digest(piece);
  const Entry& entry = entries_[key % num_entries];
  const bool is_it = entry.digest == key && entry.num_bytes == piece.size() &&
                     std::equal(piece.begin(), piece.end(), text_.begin() + entry.text);
  return is_it ? std::span(ids_).subspan(entry.first_id, entry.num_ids) : std::span<const Id>();
}

void LongPieceCache::put(std::string_view piece, std::span<const Id> ids) {
  if (text_.size() + piece.size() > most_text_bytes) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    text_.clear();
    ids_.clear();
  }
  const std::uint64_t key = digest(piece);
  entries_[key % num_entries] = {
      key, static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(piece.size()),
      static_cast<std::uint32_t>(ids_.size()), static_cast<std::uint32_t>(ids.size())};
  text_.insert(text_.end(), piece.begin(), piece.end());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

Encoder::Encoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer), merger_(tokenizer.bpe.merges) {}

void Encoder::encode(std::string_view text, std::vector<Id>& ids) {
  encode_document(text, true, ids);
}

void Encoder::encode_without_specials(std::string_view text, std::vector<Id>& ids) {
  encode_document(text, false, ids);
}

void Encoder::encode_document(std::string_view text, bool finds_specials, std::vector<Id>& ids) {
  finds_specials_ = finds_specials;
  ids_ = &ids;
  clear();
  normalized_.set_max_bytes(max_grown_bytes(text.size()));
  prepared_.set_max_bytes(max_grown_bytes(text.size()));
  encode_around(tokenizer_.raw_added_tokens, text, [&](std::string_view part) {
    const bool is_first = part.data() == text.data();
    const auto& normalizer = tokenizer_.normalizer;
    encode_normalized(normalizer ? changed(*normalizer, part, is_first, normalized_) : part, is_first);
  });
}

/// Applies a step to a part of a text. The parts share the text's bound, so that many short ones do not
/// become more than a long one.
std::string_view Encoder::changed(const Normalizer& step, std::string_view text, bool is_first,
                                  BoundedText& buffer) {
  const std::string_view result = step.apply(text, is_first, buffer);
  buffer.count_bytes(result.size());
  return result;
}

void Encoder::encode_normalized(std::string_view text, bool is_first) {
  encode_around(tokenizer_.normalized_added_tokens, text, [&](std::string_view part) {
    const bool is_first_part = is_first && part.data() == text.data();
    const auto& preparer = tokenizer_.preparer;
    encode_plain(preparer ? changed(*preparer, part, is_first_part, prepared_) : part);
  });
}

/// Appends ids of added tokens, and calls `plain` for the text between them.
template <class Plain>
void Encoder::encode_around(const AddedTokenFinder& added, std::string_view text, Plain plain) {
  AddedTokenFinder::Found last;
  while (!added.is_empty()) {
    const auto found = added.find(text, last, finds_specials_);
    if (!found) break;
    if (found->begin > last.end) plain(text.substr(last.end, found->begin - last.end));
    ids_->push_back(found->id);
    last = *found;
  }
  if (last.end < text.size()) plain(text.substr(last.end));
}

void Encoder::encode_plain(std::string_view text) {
  text_end_ = text.data() + text.size();
  if (!tokenizer_.pre_tokenizer) return encode_rarer(text);
  tokenizer_.pre_tokenizer->split(text, *this);
  flush();
}

/// Appends the ids of pieces. A piece in the short cache costs no branch but the test that it is there.
void Encoder::take(std::span<const std::string_view> pieces) {
  ShortPieceCache::Key keys[max_pieces];
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    keys[i] = ShortPieceCache::key_of(pieces[i], text_end_);
    short_.prefetch(keys[i]);
  }
  Id known[ShortPieceCache::max_ids * max_pieces];
  std::size_t num_known = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ShortPieceCache::Entry& entry = short_.find(keys[i]);
    if (entry.key == keys[i]) {
      std::copy_n(entry.ids, ShortPieceCache::max_ids, known + num_known);
      num_known += entry.num_ids;
      continue;
    }
    ids_->insert(ids_->end(), known, known + num_known);
    num_known = 0;
    encode_rarer(pieces[i]);
  }
  ids_->insert(ids_->end(), known, known + num_known);
}

/// Encodes a piece that the short cache lacks. The vocabulary finds a piece that is a token as fast as
/// the long cache would.
void Encoder::encode_rarer(std::string_view piece) {
  if (piece.empty()) return;
  const Bpe& bpe = tokenizer_.bpe;
  const Id whole = bpe.takes_whole_pieces ? bpe.vocabulary.find(piece) : no_id;
  if (whole != no_id) {
    ids_->push_back(whole);
    remember_short(piece, {&whole, 1});
    return;
  }
  if (piece.size() > LongPieceCache::max_bytes) return merge(piece);
  const std::span<const Id> known = long_.find(piece);
  if (!known.empty()) {
    ids_->insert(ids_->end(), known.begin(), known.end());
    return;
  }
  const std::size_t first = ids_->size();
  merge(piece);
  const std::span<const Id> ids = std::span(*ids_).subspan(first);
  if (!remember_short(piece, ids)) long_.put(piece, ids);
}

/// Puts a piece into the short cache. Returns whether it is short enough.
bool Encoder::remember_short(std::string_view piece, std::span<const Id> ids) {
  if (piece.size() > ShortPieceCache::max_bytes || ids.size() > ShortPieceCache::max_ids) return false;
  short_.put(ShortPieceCache::key_of(piece, text_end_), ids);
  return true;
}

void Encoder::merge(std::string_view piece) {
  symbols_.clear();
  append_symbols(tokenizer_.bpe, piece, symbols_);
  merger_.merge(symbols_, *ids_);
}

}  // namespace dt::tokenizer
