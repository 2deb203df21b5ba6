#include "tokenizer/files/learn_merges.hpp"

#include <algorithm>

#include "tokenizer/encode/merger.hpp"

namespace dt::tokenizer {

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
