#include "data/build/duplicates.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "base/numeric/random.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using namespace dt::data;

TEST_CASE("of equal documents all but the first are found, in memory and on disk") {
  // The last count makes the finder write each of the 256 files several times.
  const std::uint64_t count = GENERATE(0, 1, 2000, 700'000);
  const dt_test::Folder folder;
  DuplicateFinder finder(folder.path());
  std::map<std::uint64_t, std::uint64_t> seen;
  std::vector<bool> expected(count);
  const RandomField kinds(1, "kinds"), digests(2, "digests");
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t kind = kinds.bits(i) % (count / 2 + 1);
    expected[i] = seen[kind]++ > 0;
    finder.add({digests.bits(kind), kind % 3}, i);
  }
  CHECK(finder.find(count) == expected);
  CHECK(folder.num_entries() == 0);
}

TEST_CASE("documents that share half of their digest differ") {
  const dt_test::Folder folder;
  DuplicateFinder finder(folder.path());
  std::uint64_t number = 4;  // the last comes first
  for (const Digester128::Value digest : {Digester128::Value{1, 2}, {1, 3}, {2, 2}, {1, 2}})
    finder.add(digest, --number);
  CHECK(finder.find(4) == std::vector<bool>{false, false, false, true});
}

TEST_CASE("documents that are all equal are the first one's, whatever order they come in") {
  const dt_test::Folder folder;
  DuplicateFinder finder(folder.path());
  constexpr std::uint64_t count = 300'000;  // several times as many as are read at a time
  for (std::uint64_t i = 0; i < count; ++i) finder.add({1, 2}, count - 1 - i);
  std::vector<bool> expected(count, true);
  expected[0] = false;
  CHECK(finder.find(count) == expected);
}
