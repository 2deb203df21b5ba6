#pragma once
// Byte-pair encoding of one piece of text. Of all neighbouring tokens that may merge, the pair of the
// smallest rank merges, the leftmost first, until no pair may.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/numeric/integer.hpp"
#include "tokenizer/encode/bpe.hpp"

namespace dt::tokenizer {

/// Finds the smallest of many numbers that change one at a time. The tree has levels of numbers. Each number
/// of a level is the smallest of eight neighbours in the level below.
class MinTree {
 public:
  static constexpr std::uint64_t nothing = ~std::uint64_t{0};

  /// Starts with `size` places that all hold `nothing`. Keeps its memory.
  void reset(std::size_t size) {
    num_levels_ = 0;
    do {
      size = round_up(size, fan_out);
      levels_[num_levels_++].assign(size, nothing);
      size /= fan_out;
    } while (size > 1);
  }

  /// Sets a number without the levels above. The caller then calls build().
  void put(std::size_t place, std::uint64_t value) { levels_[0][place] = value; }
  void build() {
    for (std::size_t level = 1; level < num_levels_; ++level) {
      for (std::size_t i = 0; i * fan_out < levels_[level - 1].size(); ++i)
        levels_[level][i] = of_eight(level - 1, i);
    }
  }

  void set(std::size_t place, std::uint64_t value) {
    levels_[0][place] = value;
    for (std::size_t level = 1; level < num_levels_; ++level) {
      place /= fan_out;
      const std::uint64_t smallest = of_eight(level - 1, place);
      if (levels_[level][place] == smallest) return;
      levels_[level][place] = smallest;
    }
  }

  std::uint64_t smallest() const { return of_eight(num_levels_ - 1, 0); }

 private:
  static constexpr std::size_t fan_out = 8;
  std::uint64_t of_eight(std::size_t level, std::size_t index) const {
    const std::uint64_t* const v = &levels_[level][index * fan_out];
    return std::min(std::min(std::min(v[0], v[1]), std::min(v[2], v[3])),
                    std::min(std::min(v[4], v[5]), std::min(v[6], v[7])));
  }
  std::array<std::vector<std::uint64_t>, 22> levels_;  // the numbers themselves are level 0
  std::size_t num_levels_ = 0;
};

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
