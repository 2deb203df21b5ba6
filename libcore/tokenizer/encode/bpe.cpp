#include "tokenizer/encode/bpe.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/text/utf8.hpp"
#include "tokenizer/encode/merger.hpp"

namespace dt::tokenizer {

void MergeTable::add(Id left, Id right, Merge merge) {
  if (find(left, right).rank == no_rank) ++size_;
  if (size_ * 4 > slots_.size() * 3) grow();
  put({key_of(left, right), merge.rank, merge.merged});
}

std::vector<std::pair<Id, Id>> MergeTable::pairs() const {
  std::vector<Slot> used;
  std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(used),
               [](const Slot& s) { return s.rank != no_rank; });
  std::sort(used.begin(), used.end(),
            [](const Slot& a, const Slot& b) { return std::tie(a.rank, a.key) < std::tie(b.rank, b.key); });
  std::vector<std::pair<Id, Id>> result;
  for (const Slot& slot : used)
    result.emplace_back(static_cast<Id>(slot.key >> 32), static_cast<Id>(slot.key));
  return result;
}

void MergeTable::put(const Slot& slot) {
  const std::uint64_t hash = hash_of(slot.key);
  slots_[slot_of(slot.key, hash)] = slot;
  const std::uint64_t bit = hash >> (shift_ - log2_bits_per_slot);
  filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
}

void MergeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  --shift_;
  filter_.assign((slots_.size() << log2_bits_per_slot) / 64, 0);
  for (const Slot& slot : old) {
    if (slot.rank != no_rank) put(slot);
  }
}

namespace {

bool append_bytes(const Bpe& bpe, std::string_view bytes, std::vector<Id>& symbols) {
  const auto id_of = [&](char byte) { return bpe.byte_ids[static_cast<unsigned char>(byte)]; };
  const bool all_known =
      std::all_of(bytes.begin(), bytes.end(), [&](char byte) { return id_of(byte) != no_id; });
  if (!all_known) return false;
  for (const char byte : bytes) symbols.push_back(id_of(byte));
  return true;
}

void append_characters(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols) {
  bool after_unknown = false;
  for (std::size_t begin = 0, end = 0; begin < piece.size(); begin = end) {
    end = begin + character_length(piece.substr(begin));
    const std::string_view character = piece.substr(begin, end - begin);
    const Id id = bpe.vocabulary.find(character);
    const bool is_known = id != no_id || append_bytes(bpe, character, symbols);
    if (id != no_id) symbols.push_back(id);
    if (!is_known && bpe.unknown != no_id && !(after_unknown && bpe.fuses_unknown))
      symbols.push_back(bpe.unknown);
    after_unknown = !is_known;
  }
}

}  // namespace

void append_symbols(const Bpe& bpe, std::string_view piece, std::vector<Id>& symbols) {
  if (!bpe.is_byte_level) return append_characters(bpe, piece, symbols);
  for (const char byte : piece) {
    const Id id = bpe.byte_ids[static_cast<unsigned char>(byte)];
    if (id != no_id) {
      symbols.push_back(id);
    } else if (bpe.unknown != no_id) {
      symbols.push_back(bpe.unknown);
    }
  }
}

void learn_merges(std::vector<Id> tokens, std::span<const Rank> ranks, Bpe& bpe) {
  std::stable_sort(tokens.begin(), tokens.end(), [&](Id a, Id b) {
    return bpe.vocabulary.bytes(a).size() < bpe.vocabulary.bytes(b).size();
  });
  Merger merger(bpe.merges);
  std::vector<Id> symbols, parts;
  for (const Id id : tokens) {
    symbols.clear();
    parts.clear();
    append_symbols(bpe, bpe.vocabulary.bytes(id), symbols);
    merger.merge(symbols, parts);
    if (parts.size() == 2) bpe.merges.add(parts[0], parts[1], {ranks[id], id});
  }
}

}  // namespace dt::tokenizer
