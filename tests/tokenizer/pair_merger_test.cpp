#include "tokenizer/train/pair_merger.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace dt::tokenizer;

namespace {

constexpr Id merged = 256;

std::array<Id, 256> bytes_as_ids() {
  std::array<Id, 256> ids;
  for (Id byte = 0; byte < 256; ++byte) ids[byte] = byte;
  return ids;
}

std::vector<Position> positions_of(const TrainingWords& words, TokenPair pair) {
  std::vector<Position> positions;
  for (Position at = 1; at + 1 < words.size(); ++at) {
    if (words[at] == pair.left && words[at + 1] == pair.right) positions.push_back(at);
  }
  return positions;
}

}  // namespace

TEST_CASE("pair merger: a pair becomes a token from the left on, and its neighbours are told") {
  TrainingWords words({{"aaab", 3}, {"aaxaa", 2}}, bytes_as_ids());
  std::vector<std::uint32_t> num_bytes(256, 1);
  num_bytes.push_back(2);
  MergeSides sides(257);
  merge_pair(words, num_bytes, {'a', 'a'}, merged, positions_of(words, {'a', 'a'}), sides);
  // "aaab" and "aaxaa" become AA a b and AA x AA.
  REQUIRE((words[1] == merged && words[2] == merged && words[3] == 'a' && words[4] == 'b'));
  REQUIRE((words[6] == merged && words[8] == 'x' && words[9] == merged));
  REQUIRE(sides.left.ids() == std::vector<Id>{'x'});
  REQUIRE(sides.left.tally('x').count == 2);
  REQUIRE(sides.left.places().front().at == 8);
  REQUIRE(sides.right.ids() == std::vector<Id>{'a', 'x'});
  REQUIRE(sides.right.tally('a').count == 3);
  REQUIRE(sides.right.tally('x').count == 2);
}

TEST_CASE("pair merger: positions are divided between words, none is lost") {
  const TrainingWords words({{"ababababab", 9}, {"ab", 8}, {"abxxabab", 7}, {"abab", 6}}, bytes_as_ids());
  const std::vector<Position> positions = positions_of(words, {'a', 'b'});
  for (std::size_t max_parts = 1; max_parts < 20; ++max_parts) {
    const auto parts = divide_by_words(words, positions, max_parts);
    REQUIRE(parts.size() <= max_parts);
    std::vector<Position> all;
    for (const auto& part : parts) {
      bool is_behind_border = all.empty();
      for (Position at = all.empty() ? 0 : all.back(); at < part.front(); ++at)
        is_behind_border = is_behind_border || words[at] == TrainingWords::border;
      REQUIRE(is_behind_border);
      all.insert(all.end(), part.begin(), part.end());
    }
    REQUIRE(all == positions);
  }
}
