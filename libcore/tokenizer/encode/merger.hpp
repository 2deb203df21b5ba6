#pragma once
// Byte-pair encoding of one piece of text. Of all neighbouring tokens that may merge, the pair of the
// smallest rank merges, the leftmost first, until no pair may.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/encode/merge_table.hpp"
#include "tokenizer/encode/min_tree.hpp"

namespace dt::tokenizer {

/// A token of a piece. It begins at symbol `begin` of the piece and ends where the next part begins.
/// The token and the next part would merge into `merged`, at `rank`.
struct Symbol {
  Id id;
  std::uint32_t begin;
  Rank rank;
  Id merged;
};

/// Merges the symbols of pieces. Each thread has its own merger, which keeps its working memory.
class Merger {
 public:
  explicit Merger(const MergeTable& table) : table_(table) {}
  /// Appends the tokens that `symbols` merge to. There are fewer than 2³² symbols.
  /// The time is linear in the number of symbols: long pieces are encoded window by window. The result
  /// is exact for any table. A sequence of tokens is the encoding of its text if and only if each two
  /// neighbours are the encoding of theirs. So a window's tokens stand once the last of them may have
  /// the first token of the next window as its neighbour.
  /// Proof: Merges inside two neighbours' text come in the same order, whatever stands beside it, until
  /// one crosses its border. The first crossing in the whole text would be the same pair's, at the same
  /// time, in those two alone.
  void merge(std::span<const Id> symbols, std::vector<Id>& ids);

 private:
  using Symbols = std::vector<Symbol>;
  void merge_window(std::span<const Id> symbols, std::uint32_t offset, Symbols& parts);
  void merge_few(Symbols& parts);
  void merge_many(Symbols& parts);
  void link(std::uint32_t size);
  void unlink(std::uint32_t i, Symbols& parts);
  void merge_long(std::span<const Id> symbols);
  bool follows_done(std::span<const Id> symbols, std::uint32_t window_end);
  std::uint32_t drop_tail(std::uint32_t end, std::uint32_t stands);
  std::uint32_t drop_done(std::size_t count);
  Merge find(const Symbol& left, const Symbol& right) const { return table_.find(left.id, right.id); }

  const MergeTable& table_;
  Symbols window_, pair_, done_;
  std::vector<std::uint32_t> next_, previous_;  // list of neighbours in merge_many()
  MinTree tree_;
};

}  // namespace dt::tokenizer
