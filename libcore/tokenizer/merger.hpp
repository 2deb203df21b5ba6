#pragma once
// Byte-pair encoding of one piece of text: of the neighbouring tokens that may merge, those of the smallest
// rank do, the leftmost first, until none may.

#include <cstdint>
#include <span>
#include <vector>

#include "tokenizer/merge_table.hpp"
#include "tokenizer/min_tree.hpp"

namespace dt::tokenizer {

/// A token of a piece: it begins at `begin`, counted in the piece's symbols, and ends where the next begins.
/// (rank, merged) is what it would become with the next.
struct Part {
  Id id;
  std::uint32_t begin;
  Rank rank;
  Id merged;
};

/// A thread's own: it keeps what it works in.
class Merger {
 public:
  explicit Merger(const MergeTable& table) : table_(table) {}
  /// Appends what the tokens `symbols`, fewer than 2³² of them, merge to. The time is linear in their number:
  /// long pieces are encoded window by window. Exact for any table: a sequence of tokens is the encoding of
  /// its text if and only if each two neighbours are the encoding of theirs, so a window's tokens stand once
  /// the first of the next window is a neighbour that the last of them may have. (Merges inside two
  /// neighbours' text come in the same order whatever stands beside it, until one crosses its border; a first
  /// crossing in the whole text would be the same pair's, at the same time, in those two alone.)
  void merge(std::span<const Id> symbols, std::vector<Id>& ids);

 private:
  using Parts = std::vector<Part>;
  void merge_window(std::span<const Id> symbols, std::uint32_t offset, Parts& parts);
  void merge_few(Parts& parts);
  void merge_many(Parts& parts);
  void link(std::uint32_t size);
  void unlink(std::uint32_t i, Parts& parts);
  void merge_long(std::span<const Id> symbols);
  bool follows_done(std::span<const Id> symbols, std::uint32_t window_end);
  std::uint32_t drop_tail(std::uint32_t end, std::uint32_t stands);
  std::uint32_t take_back(std::size_t count);
  Merge find(const Part& left, const Part& right) const { return table_.find(left.id, right.id); }

  const MergeTable& table_;
  Parts window_, pair_, done_;
  std::vector<std::uint32_t> next_, previous_;  // merge_many's list of neighbours
  MinTree tree_;
};

}  // namespace dt::tokenizer
