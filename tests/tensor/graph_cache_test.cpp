#include "tensor/device/graph_cache.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace dt {
namespace {

/// Records what a stream gets: pieces as they are, and "[" and "]" around the pieces of a graph.
class Player {
 public:
  explicit Player(bool can_capture = true,
                  GraphCache::Limits limits = {.min_graph_operations = 2, .max_graphs = 2})
      : work(
            [this, can_capture](const GraphCache::Enqueue& enqueue) {
              ++captures;
              return can_capture ? capture(enqueue) : GraphCache::Enqueue();
            },
            limits) {}
  /// Keeps a piece of work for each letter.
  void keep(const std::string& pieces) {
    for (const char name : pieces) {
      work.defer(WorkKey(name), [this, name] {
        ++asked;
        *to += name;
      });
    }
  }
  std::string use() {
    given.clear();
    work.flush_and_run([this] { given += '.'; });
    return given;
  }
  std::string stretch(const std::string& pieces) {
    keep(pieces);
    return use();
  }
  /// Repeats pieces until every stretch that can be a graph is one.
  void learn(const std::string& pieces) {
    for (int i = 0; i < 2; ++i) stretch(pieces);
    work.instantiate_graphs();
  }

  GraphCache work;
  int asked = 0, captures = 0;

 private:
  GraphCache::Enqueue capture(const GraphCache::Enqueue& enqueue) {
    std::string captured;
    to = &captured;
    enqueue();
    to = &given;
    return [this, captured] { given += "[" + captured + "]"; };
  }

  std::string given;
  std::string* to = &given;
};

TEST_CASE("a stretch that comes again is made a graph, and then launched without its pieces", "[repeating]") {
  Player player;
  CHECK(player.stretch("abc") == "abc.");
  player.work.instantiate_graphs();
  CHECK(player.stretch("abc") == "abc.");
  CHECK(player.stretch("abc") == "abc.");
  CHECK(player.asked == 9);
  CHECK(player.captures == 0);
  player.work.instantiate_graphs();
  CHECK(player.asked == 12);
  for (int i = 0; i < 3; ++i) {
    CHECK(player.stretch("abc") == "[abc].");
    player.work.instantiate_graphs();
  }
  CHECK(player.asked == 12);
  CHECK(player.captures == 1);
}

TEST_CASE("what is kept comes before what uses the stream, in its order", "[repeating]") {
  Player player;
  CHECK(player.use() == ".");
  player.keep("ab");
  player.keep("c");
  CHECK(player.use() == "abc.");
  CHECK(player.use() == ".");
}

TEST_CASE("only the same pieces in the same order are the same stretch", "[repeating]") {
  Player player;
  player.learn("abc");
  for (const std::string pieces : {"acb", "ab", "abcd", "cb"}) CHECK(player.stretch(pieces) == pieces + ".");
  CHECK(player.stretch("abc") == "[abc].");
}

TEST_CASE("keys do not run into each other", "[repeating]") {
  Player player;
  for (int i = 0; i < 2; ++i) {
    player.work.defer(WorkKey('a', 'b'), [] {});
    player.work.defer(WorkKey('c'), [] {});
    player.use();
  }
  player.work.instantiate_graphs();
  CHECK(player.captures == 1);
  player.work.defer(WorkKey('a'), [] {});
  player.work.defer(WorkKey('b', 'c'), [] {});
  CHECK(player.use() == ".");
}

TEST_CASE("short stretches are given as they are", "[repeating]") {
  Player player;
  player.learn("a");
  CHECK(player.stretch("a") == "a.");
  CHECK(player.captures == 0);
}

TEST_CASE("beyond the most graphs those make room that have not come for long", "[repeating]") {
  Player player;
  player.learn("ab");
  player.learn("cd");
  player.learn("ef");
  CHECK(player.stretch("ef") == "ef.");
  for (int i = 0; i < 8; ++i) CHECK(player.stretch("cd") == "[cd].");
  player.learn("gh");
  CHECK(player.stretch("gh") == "[gh].");
  CHECK(player.stretch("ab") == "ab.");
  CHECK(player.stretch("cd") == "[cd].");
}

TEST_CASE("what cannot be captured is given as it is, and tried once", "[repeating]") {
  Player player(false);
  for (int i = 0; i < 4; ++i) {
    CHECK(player.stretch("ab") == "ab.");
    player.work.instantiate_graphs();
  }
  CHECK(player.captures == 1);
}

TEST_CASE("a stream that has lost what was kept for it takes nothing any more", "[repeating]") {
  Player player;
  player.work.defer(WorkKey('a'), [] { throw std::runtime_error("not taken"); });
  CHECK_THROWS_WITH(player.use(), "not taken");
  CHECK_THROWS_WITH(player.use(), "not taken");
  CHECK_THROWS_WITH(player.keep("b"), "not taken");
}

}  // namespace
}  // namespace dt
