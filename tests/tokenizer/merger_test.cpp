#include "tokenizer/encode/merger.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace dt::tokenizer;

namespace {

using Ids = std::vector<Id>;

/// Merges by the definition, one merge at a time.
Ids merged_naively(const MergeTable& table, Ids ids) {
  while (true) {
    std::size_t best = ids.size();
    Merge merge;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge here = table.find(ids[i], ids[i + 1]);
      if (here.rank < merge.rank) {
        merge = here;
        best = i;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = merge.merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

Ids merged(const MergeTable& table, const Ids& symbols) {
  Ids ids;
  Merger(table).merge(symbols, ids);
  return ids;
}

/// Returns merges of random pairs of tokens, each of symbols and earlier merges' results, in random
/// order of rank. Some ranks are equal. A merge may rank before those that make its parts, which no
/// training gives.
MergeTable random_table(std::mt19937& random, Id num_symbols, Id num_merges) {
  std::vector<Rank> ranks(num_merges);
  for (Rank i = 0; i < num_merges; ++i) ranks[i] = i;
  const Rank num_equal = random() % 3 == 0 ? 1 + random() % 20 : 1;
  for (Rank& rank : ranks) rank /= num_equal;
  if (random() % 2 == 0) std::shuffle(ranks.begin(), ranks.end(), random);
  MergeTable table;
  for (Id i = 0; i < num_merges; ++i) {
    const Id tokens = num_symbols + i;
    const Id left = random() % tokens, right = random() % tokens;
    if (table.find(left, right).rank == no_rank) table.add(left, right, {ranks[i], tokens});
  }
  return table;
}

Ids random_symbols(std::mt19937& random, Id num_symbols, std::size_t count) {
  Ids symbols(count);
  for (Id& symbol : symbols) symbol = random() % num_symbols;
  return symbols;
}

}  // namespace

TEST_CASE("merger: the smallest rank goes first, the leftmost of equals") {
  MergeTable table;  // a b c = 0 1 2
  table.add(0, 0, {1, 3});
  table.add(1, 2, {0, 4});
  table.add(0, 4, {2, 5});
  CHECK(merged(table, {0, 0, 0}) == Ids{3, 0});
  CHECK(merged(table, {0, 1, 2}) == Ids{5});
  CHECK(merged(table, {0, 0, 1, 2}) == Ids{3, 4});
  CHECK(merged(table, {2, 1}) == Ids{2, 1});
  CHECK(merged(table, {}).empty());
  CHECK(merged(table, {7}) == Ids{7});
}

TEST_CASE("merger: appends to what is there") {
  MergeTable table;
  table.add(0, 1, {0, 2});
  Ids ids = {9};
  Merger(table).merge(Ids{0, 1}, ids);
  CHECK(ids == Ids{9, 2});
}

TEST_CASE("merger: any table, any length: what one merge at a time gives") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const Id num_symbols = 1 + random() % 5;
    const MergeTable table = random_table(random, num_symbols, random() % 40);
    const Ids symbols = random_symbols(random, num_symbols, random() % 900);
    REQUIRE(merged(table, symbols) == merged_naively(table, symbols));
  }
}

TEST_CASE("merger: a border that what follows far away decides") {
  // Symbols are 0 1 2 … k. Pairs (i, i+1) merge, later ones first, so the end decides which pairs
  // merge.
  constexpr Id k = 1000;
  MergeTable table;
  for (Id i = 0; i < k; ++i) table.add(i, i + 1, {k - i, k + 1 + i});
  Ids symbols;
  for (Id i = 0; i <= k; ++i) symbols.push_back(i);
  for (int length = 990; length <= 1001; ++length) {
    const Ids part(symbols.begin(), symbols.begin() + length);
    CHECK(merged(table, part) == merged_naively(table, part));
  }
}

TEST_CASE("merger: one letter, tokens longer than a window") {
  MergeTable table;
  for (Id i = 0; i < 12; ++i) table.add(i, i, {i, i + 1});  // runs of 2, 4, … 4096
  for (const std::size_t count : {127, 128, 129, 4095, 4096, 5000, 20000}) {
    Ids expected(count / 4096, 12);
    for (int bit = 11; bit >= 0; --bit) {
      if ((count >> bit & 1) != 0) expected.push_back(static_cast<Id>(bit));
    }
    CHECK(merged(table, Ids(count, 0)) == expected);
  }
}

TEST_CASE("merger: a million of one symbol take no quadratic time") {
  MergeTable table;
  for (Id i = 0; i < 6; ++i) table.add(i, i, {i, i + 1});
  CHECK(merged(table, Ids(1'000'000, 0)) == Ids(1'000'000 / 64, 6));
}
