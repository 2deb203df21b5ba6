#include "run/local/local_checkpoint.hpp"

#include <catch2/catch.hpp>

#include "checkpoint/sample.hpp"

namespace dt::run {
namespace {

LocalShard shard(std::int64_t step, std::int64_t generation, std::vector<int> writers) {
  LocalShard shard;
  shard.header = checkpoint::test::sample_manifest(step, generation);
  shard.header.mesh = {1, 4, 1, 0};
  shard.header_text = to_json(shard.header);
  shard.writers = std::move(writers);
  return shard;
}

std::string says(std::vector<LocalShard> shards) {
  return describe_shards(shards);
}

TEST_CASE("shares of several nodes make a whole one if some node holds every writer") {
  const std::vector<std::string> nodes = {says({shard(10, 1, {0, 3}), shard(20, 1, {0})}), "",
                                          says({shard(10, 1, {1, 2}), shard(10, 1, {2, 3})}),
                                          says({shard(5, 2, {0, 1})})};
  const std::vector<LocalCheckpoint> found = merge_shards(nodes);
  REQUIRE(found.size() == 3);
  CHECK(found[0].generation == 2);  // the newest comes first
  CHECK(found[1].step == 20);
  CHECK(found[2].step == 10);
  CHECK(found[2].why_incomplete().empty());
  CHECK(found[2].holders == std::vector<std::vector<int>>{{0}, {2}, {2}, {0, 2}});
  CHECK(found[0].why_incomplete() == "no node of this job holds the files of ranks 2, 3 of 4");
  CHECK(found[1].why_incomplete() == "no node of this job holds the files of ranks 1, 2, 3 of 4");
  const LocalCheckpoint back = parse_local_checkpoint(to_text(found[2]));
  CHECK(back.holders == found[2].holders);
  CHECK(back.header_text == found[2].header_text);
  CHECK(checkpoint::parse_manifest(back.header_text, "header").state.step == 10);
  CHECK(merge_shards(std::vector<std::string>{"", ""}).empty());
  CHECK_FALSE(LocalCheckpoint{}.why_incomplete().empty());
}

}  // namespace
}  // namespace dt::run
