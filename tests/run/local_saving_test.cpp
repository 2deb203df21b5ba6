#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>

#include "checkpoint/compare.hpp"
#include "checkpoint/part_file.hpp"
#include "checkpoint/sample.hpp"
#include "comm/exchange.hpp"
#include "comm/threads/thread_group.hpp"
#include "run/local_target.hpp"
#include "run/promotion.hpp"

namespace dt::run {
namespace {
using checkpoint::Manifest;
using checkpoint::test::contains;

ConsoleSettings silent() {
  return {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never};
}

/// A run, and jobs of ranks as threads on hosts of any names, each with a disk of its own.
struct Cluster {
  explicit Cluster(int ranks_a_host = 1) : per_host(ranks_a_host) {
    run.create();
    own = run.claim("", 0);
    pieces = checkpoint::test::model_pieces(checkpoint::test::sample_manifest().model);
  }

  fs::path disk(const std::string& host) const { return folder / ("disk-" + host); }
  Manifest header(std::int64_t step, int num_ranks) const {
    Manifest manifest = checkpoint::test::sample_manifest(step, own.number);
    manifest.mesh = {1, num_ranks, 1, 0};
    return manifest;
  }

  /// On each rank; what it throws is the job's.
  void job(const std::vector<std::string>& hosts,
           const std::function<void(const comm::Ranks&, const std::string& host)>& body) const {
    const int size = static_cast<int>(hosts.size()) * per_host;
    comm::run_threads(size, [&](comm::Communicator& world) {
      Console console(silent());
      const comm::Ranks ranks{world, console, [](const Error&) {}, false};
      body(ranks, hosts[static_cast<std::size_t>(world.rank() / per_host)]);
      return 0;
    });
  }

  void save(const std::vector<std::string>& hosts, std::vector<std::int64_t> steps) const {
    job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
      LocalTarget target(ranks, disk(host), run, own, 20, host);
      for (const std::int64_t step : steps) save_one(ranks, target, step);
    });
  }
  void save_one(const comm::Ranks& ranks, LocalTarget& target, std::int64_t step) const {
    const int rank = ranks.world.rank(), size = ranks.world.size();
    const Manifest manifest = header(step, size);
    const fs::path unfinished = target.begin(manifest);
    comm::together(ranks.world, [&] {
      checkpoint::write_part(unfinished, manifest, rank, checkpoint::test::share_of(pieces.list, rank, size));
      target.finish_part([] {});
    });
    SavedCheckpoint saved;
    comm::together(ranks.world, [&] {
      if (target.is_committer()) target.commit(saved, ranks.world.size());
    });
    target.end(true);
    target.tell_proven(step);
  }

  std::vector<LocalCheckpoint> find(const std::vector<std::string>& hosts) const {
    std::vector<LocalCheckpoint> found;
    job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
      const auto own_view = Promotion(ranks, disk(host).string(), run, host).find();
      if (ranks.is_first()) found = own_view;
    });
    return found;
  }
  /// Of the newest; "" or why not.
  std::string promote(const std::vector<std::string>& hosts) const {
    std::string why;
    job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
      const Promotion promotion(ranks, disk(host).string(), run, host);
      const std::vector<LocalCheckpoint> found = promotion.find();
      try {
        promotion.promote(found.at(0));
      } catch (const Error& error) {
        if (ranks.is_first()) why = fmt::format("{} {}", error.exit_code(), error.message());
      }
    });
    return why;
  }
  bool is_right(std::int64_t step) const {
    const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(step, own.number);
    if (!checkpoint::verify_checkpoint(path).empty()) return false;
    const fs::path expected = checkpoint::write_checkpoint(folder / "expected", header(step, 1), pieces.list);
    bool equal = true;
    checkpoint::compare(checkpoint::Reader(expected), checkpoint::Reader(path),
                        [&](const checkpoint::TensorComparison& c) {
                          equal = equal && c.outcome == checkpoint::TensorComparison::Outcome::equal;
                        });
    fs::remove_all(folder / "expected");
    return equal;
  }
  std::size_t entries(const fs::path& path) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  fs::path share(const std::string& host, std::int64_t step) const {
    return LocalStore(disk(host), run, host).path() / checkpoint::checkpoint_name(step, own.number);
  }

  int per_host;
  dt_test::Folder folder;
  RunDirectory run{folder / "run"};
  Generation own;
  checkpoint::test::Pieces pieces;
};

void flip(const fs::path& path) {
  std::string text = read_file(path);
  text[text.size() / 2] ^= 16;
  checkpoint::test::write_text(path, text);
}

TEST_CASE("storage that cannot be used ends a start, and holds nothing where ranks only tell what there is") {
  const Cluster cluster(1);
  cluster.save({"n0", "n1", "n2"}, {10});
  fs::remove_all(cluster.disk("n2"));
  checkpoint::test::write_text(cluster.disk("n2"), "no folder");
  CHECK_THROWS_AS(cluster.find({"n0", "n1", "n2"}), Error);
  cluster.job({"n0", "n1", "n2"}, [&](const comm::Ranks& ranks, const std::string& host) {
    const auto found = Promotion(ranks, cluster.disk(host).string(), cluster.run, host).survey();
    REQUIRE(found.size() == 1);
    CHECK(found.at(0).why_incomplete().empty());
  });
}

TEST_CASE("whichever node is lost, the others bring a local checkpoint together") {
  const int per_host = GENERATE(1, 2);
  const std::string lost = GENERATE("a", "b", "c", "");
  CAPTURE(per_host, lost);
  const Cluster cluster(per_host);
  cluster.save({"a", "b", "c"}, {10, 20});
  if (!lost.empty()) fs::remove_all(cluster.disk(lost));
  std::vector<std::string> others = {"d"};  // a node that holds nothing
  for (const char* host : {"c", "a", "b"}) {
    if (host != lost) others.push_back(host);
  }
  CHECK(cluster.promote(others) == "");
  CHECK(cluster.is_right(20));
  CHECK(cluster.entries(cluster.run.checkpoints_path()) == 1);
}

TEST_CASE("a node's share holds what its own ranks wrote and what those of the node before it did") {
  const Cluster cluster(2);
  cluster.save({"a", "b", "c"}, {10});
  const std::vector<LocalCheckpoint> found = cluster.find({"a", "b", "c"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].holders == std::vector<std::vector<int>>{{0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 2}, {0, 2}});
}

TEST_CASE("two neighbours lost are too many, and that is said") {
  const Cluster cluster;
  cluster.save({"a", "b", "c", "d"}, {10});
  CHECK(contains(cluster.promote({"a", "d"}),
                 "3 step 10 was saved on nodes alone: what rank 1 of 4 wrote is on no node"));
  CHECK(cluster.entries(cluster.run.checkpoints_path()) == 0);
  CHECK(cluster.promote({"a", "c"}) == "");
  CHECK(cluster.is_right(10));
}

TEST_CASE(
    "where the newest was cut off while it was saved, or is damaged, the one before it is brought together") {
  const bool is_cut_off = GENERATE(true, false);
  const Cluster cluster;
  const std::vector<std::string> hosts = {"a", "b", "c", "d"};
  cluster.save(hosts, {10});
  for (const std::string& host : hosts) fs::rename(cluster.share(host, 10), cluster.folder / host);
  cluster.save(hosts, {20});
  for (const std::string& host : hosts) fs::rename(cluster.folder / host, cluster.share(host, 10));
  fs::remove_all(cluster.disk("a"));
  const fs::path copy = cluster.share("b", 20) / checkpoint::piece_file_name(0);  // of rank 0's
  if (is_cut_off)
    fs::remove(copy);
  else
    flip(copy);
  cluster.job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
    const Promotion promotion(ranks, cluster.disk(host).string(), cluster.run, host);
    const std::vector<LocalCheckpoint> found = promotion.find();
    comm::together(ranks.world, [&] { REQUIRE(found.size() == 2); });
    promotion.promote_newest(found);
  });
  CHECK(cluster.is_right(10));
  CHECK(cluster.entries(cluster.run.checkpoints_path()) == 1);
}

TEST_CASE("where a share is damaged, another node's is taken; where both are, nothing appears") {
  const Cluster cluster;
  cluster.save({"a", "b", "c"}, {10});
  flip(cluster.share("a", 10) / checkpoint::piece_file_name(0));
  flip(cluster.share("c", 10) / checkpoint::piece_file_name(1));
  SECTION("one of two") {
    CHECK(cluster.promote({"a", "b", "c"}) == "");
    CHECK(cluster.is_right(10));
  }
  SECTION("both") {
    flip(cluster.share("b", 10) / checkpoint::piece_file_name(0));
    const std::string why = cluster.promote({"a", "b", "c"});
    CHECK(contains(why, "3 what rank 0 wrote: "));
    CHECK(contains(why, "digest"));
    CHECK(cluster.entries(cluster.run.checkpoints_path()) == 0);
  }
}

TEST_CASE("the newest local checkpoint alone is kept, and none once the run's state is elsewhere") {
  const Cluster cluster;
  cluster.save({"a", "b"}, {10, 20, 30});
  const std::vector<LocalCheckpoint> found = cluster.find({"a", "b"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 30);
  CHECK_FALSE(fs::exists(cluster.share("a", 20)));
  cluster.job({"a", "b"}, [&](const comm::Ranks& ranks, const std::string& host) {
    LocalTarget target(ranks, cluster.disk(host), cluster.run, cluster.own, 20, host);
    target.clear();
  });
  CHECK(cluster.find({"a", "b"}).empty());
}

TEST_CASE("a copy that cannot be written fails the save on all ranks, and the older checkpoint stays whole") {
  const Cluster cluster;
  cluster.save({"a", "b", "c"}, {10});
  std::atomic<int> told = 0;
  cluster.job({"a", "b", "c"}, [&](const comm::Ranks& ranks, const std::string& host) {
    LocalTarget target(ranks, cluster.disk(host), cluster.run, cluster.own, 20, host);
    const Manifest manifest = cluster.header(20, 3);
    const fs::path unfinished = target.begin(manifest);
    comm::together(ranks.world, [&] {
      checkpoint::write_part(unfinished, manifest, ranks.world.rank(),
                             checkpoint::test::share_of(cluster.pieces.list, ranks.world.rank(), 3));
    });
    comm::together(ranks.world, [&] {
      if (host == "b") fs::remove_all(unfinished);
    });
    try {
      comm::together(ranks.world, [&] { target.finish_part([] {}); });
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::environment && contains(error.message(), "disk-b")) ++told;
    }
    target.end(false);
  });
  CHECK(told == 3);
  const std::vector<LocalCheckpoint> found = cluster.find({"a", "b", "c"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 10);
  CHECK(found[0].why_incomplete().empty());
}

TEST_CASE("one node alone keeps its own") {
  const Cluster cluster(3);
  cluster.save({"a"}, {10});
  CHECK(cluster.promote({"a"}) == "");
  CHECK(cluster.is_right(10));
}

TEST_CASE("a folder that cannot be made is an error that names it") {
  const Cluster cluster;
  checkpoint::test::write_text(cluster.disk("b"), "a file");
  std::atomic<int> told = 0;
  cluster.job({"a", "b"}, [&](const comm::Ranks& ranks, const std::string& host) {
    try {
      LocalTarget target(ranks, cluster.disk(host), cluster.run, cluster.own, 20, host);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::environment && contains(error.message(), "disk-b")) ++told;
    }
  });
  CHECK(told == 2);
}

}  // namespace
}  // namespace dt::run
