// Reads the model of a tokenizer.json: its vocabulary and merges.

#include <algorithm>

#include "tokenizer/encode/byte_alphabet.hpp"
#include "tokenizer/files/hf_parts.hpp"

namespace dt::tokenizer {

namespace {

void set_tokens(const IdsByText& ids, Bpe& bpe) {
  for (const auto& [text, id] : ids) {
    const auto bytes = bpe.is_byte_level ? bytes_of_alphabet(text) : text;
    if (bytes) {
      bpe.vocabulary.set(id, *bytes);
    } else {
      bpe.vocabulary.set_unfindable(id, text);
    }
  }
}

Id id_of(const IdsByText& ids, const std::string& text) {
  const auto found = ids.find(text);
  return found == ids.end() ? no_id : found->second;
}

/// Reads the two tokens of a merge: "a b", or since 2024 ["a", "b"].
std::pair<std::string, std::string> read_pair(const JsonValue& merge) {
  if (merge.is_array()) {
    const std::vector<JsonValue> two = merge.items();
    if (two.size() != 2) throw merge.error("expected two tokens");
    return {two[0].string(), two[1].string()};
  }
  const std::string& text = merge.string();
  const std::size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos)
    throw merge.error("expected two tokens separated by a space");
  return {text.substr(0, space), text.substr(space + 1)};
}

/// Returns which merges share the rank of the merge before them.
std::vector<bool> read_ties(const JsonValue& model, std::size_t num_merges) {
  std::vector<bool> is_tied(num_merges);
  const auto list = model.find("dt_ties");
  for (const JsonValue& item : list ? list->items() : std::vector<JsonValue>()) {
    const std::uint64_t index = item.unsigned_integer();
    if (index == 0 || index >= num_merges) throw item.error("is not the index of a second or later merge");
    is_tied[index] = true;
  }
  return is_tied;
}

void read_merges(const JsonValue& model, const IdsByText& ids, MergeTable& table) {
  const std::vector<JsonValue> items = model.at("merges").items();
  const std::vector<bool> is_tied = read_ties(model, items.size());
  Rank rank = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const JsonValue& item = items[i];
    const auto [left, right] = read_pair(item);
    const Id merged = id_of(ids, left + right);
    for (const std::string& text : {left, right, left + right}) {
      if (id_of(ids, text) == no_id) throw item.error(fmt::format("\"{}\" is not in the vocabulary", text));
    }
    if (i > 0 && !is_tied[i]) ++rank;
    table.add(id_of(ids, left), id_of(ids, right), {rank, merged});
  }
}

std::array<Id, 256> byte_ids(const IdsByText& ids, bool is_byte_level) {
  std::array<Id, 256> of_bytes;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string alone(1, static_cast<char>(byte));
    of_bytes[static_cast<std::size_t>(byte)] =
        id_of(ids, is_byte_level ? in_alphabet(alone) : fmt::format("<0x{:02X}>", byte));
  }
  return of_bytes;
}

/// Returns whether no text leads to an unknown token.
bool covers_all_bytes(const Bpe& bpe) {
  const auto& ids = bpe.byte_ids;
  return bpe.is_byte_level && std::find(ids.begin(), ids.end(), no_id) == ids.end();
}

void refuse_options(const JsonValue& model) {
  if (model.string("type", "BPE") != "BPE") throw unknown_kind(model, "BPE");
  for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.string(name, "").empty()) throw model.at(name).error("is not supported", "expected none");
  }
  if (const auto dropout = model.find("dropout"); dropout && !dropout->is_zero())
    throw dropout->error("is not supported", "expected null or 0");
}

}  // namespace

IdsByText read_vocabulary(const JsonValue& model) {
  refuse_options(model);
  const JsonValue vocab = model.at("vocab");
  IdsByText ids;
  vocab.for_each_unsigned_integer([&](const std::string& text, std::uint64_t id) {
    if (id >= max_vocabulary)
      throw vocab.error(fmt::format("the id of \"{}\" is not below {}", text, max_vocabulary));
    ids[text] = static_cast<Id>(id);
  });
  return ids;
}

Bpe read_bpe(const JsonValue& model, const IdsByText& ids, bool is_byte_level) {
  Bpe bpe;
  bpe.is_byte_level = is_byte_level;
  bpe.takes_whole_pieces = model.boolean("ignore_merges", false);
  bpe.fuses_unknown = model.boolean("fuse_unk", false);
  set_tokens(ids, bpe);
  read_merges(model, ids, bpe.merges);
  if (is_byte_level || model.boolean("byte_fallback", false)) bpe.byte_ids = byte_ids(ids, is_byte_level);
  if (const auto unknown = model.find("unk_token")) {
    bpe.unknown = id_of(ids, unknown->string());
    if (bpe.unknown == no_id && !covers_all_bytes(bpe)) throw unknown->error("is not in the vocabulary");
  }
  return bpe;
}

}  // namespace dt::tokenizer
