#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "checkpoint/compare.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "comm/exchange.hpp"
#include "comm/threads/thread_group.hpp"
#include "run/local/promotion.hpp"
#include "run/save/local_target.hpp"

namespace dt::run {
namespace {
using checkpoint::Manifest;
using checkpoint::test::contains;

ConsoleSettings silent() {
  return {.tool = "test", .json = false, .quiet = true, .verbose = false, .progress = ProgressMode::never};
}

/// A run, and jobs whose ranks are threads on hosts of any names. Each host has a disk of its own.
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

  /// Calls body on each rank. The job throws what a rank throws.
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
      LocalTarget target(ranks, {disk(host), 20, encrypts}, run, own, host);
      for (const std::int64_t step : steps) save_one(ranks, target, step);
    });
  }
  void save_one(const comm::Ranks& ranks, LocalTarget& target, std::int64_t step) const {
    const int rank = ranks.world.rank(), size = ranks.world.size();
    const Manifest manifest = header(step, size);
    const fs::path unfinished = target.begin(manifest);
    comm::run_collectively(ranks.world, [&] {
      checkpoint::write_shard(unfinished, manifest, rank,
                              checkpoint::test::share_of(pieces.list, rank, size));
      target.finish_shard([] {});
    });
    SavedCheckpoint saved;
    comm::run_collectively(ranks.world, [&] {
      if (target.is_committer()) target.commit(saved, ranks.world.size(), {});
    });
    target.complete(saved);
    target.end(true);
    target.confirm_weights(step);
  }

  std::vector<LocalCheckpoint> find(const std::vector<std::string>& hosts) const {
    std::vector<LocalCheckpoint> found;
    job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
      const auto own_view = Promotion(ranks, disk(host).string(), run, host).find();
      if (ranks.is_root()) found = own_view;
    });
    return found;
  }
  /// Promotes the newest local checkpoint. Returns "", or the exit code and message of the error.
  std::string promote(const std::vector<std::string>& hosts,
                      std::size_t max_files_with_list = checkpoint::default_max_files_with_list) const {
    std::string why;
    job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
      const Promotion promotion(ranks, disk(host).string(), run, host, max_files_with_list);
      const std::vector<LocalCheckpoint> found = promotion.find();
      try {
        promotion.promote(found.at(0));
      } catch (const Error& error) {
        if (ranks.is_root()) why = fmt::format("{} {}", error.exit_code(), error.message());
      }
    });
    return why;
  }
  bool is_right(std::int64_t step) const {
    const fs::path path = run.checkpoints_path() / checkpoint::checkpoint_name(step, own.number);
    if (!checkpoint::verify_checkpoint(path).empty()) return false;
    const fs::path expected =
        checkpoint::test::write_checkpoint(folder / "expected", header(step, 1), pieces.list);
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
  fs::path shard(const std::string& host, std::int64_t step) const {
    return LocalStore(disk(host), run, host, std::nullopt).path() /
           checkpoint::checkpoint_name(step, own.number);
  }

  int per_host;
  bool encrypts = false;
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

/// Returns the ports at which this process listens, without those of other processes.
std::vector<int> own_ports() {
  std::set<std::string> sockets;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    sockets.insert(fs::read_symlink(entry.path(), gone).string());
  }
  std::vector<int> ports;
  std::ifstream table("/proc/self/net/tcp");
  for (std::string line; std::getline(table, line);) {
    unsigned port = 0, state = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), " %*d: %*x:%x %*x:%*x %x %*s %*s %*s %*s %*s %lu", &port, &state, &inode) ==
            3 &&
        state == 10 && sockets.contains(fmt::format("socket:[{}]", inode)))
      ports.push_back(static_cast<int>(port));
  }
  return ports;
}

/// Saves while connections from unknown programs come from the senders' host. Idle connections
/// stay, others send garbage, and others replay what a rank has said before. Each is opened again
/// once the receiver has closed it.
void crowd(int num_saves, int num_idle, int num_garbage, int num_replayed) {
  const Cluster cluster;
  const std::vector<std::string> hosts = {"a", "b"};
  std::atomic<bool> is_over = false;
  const std::string address = own_addresses().front();
  const auto intrude = [&](const std::vector<int>& ports, int number, std::span<const std::byte> says,
                           int seed) {
    std::vector<std::optional<TcpConnection>> open(static_cast<std::size_t>(number));
    for (std::size_t turn = static_cast<std::size_t>(seed); !is_over; ++turn) {
      std::optional<TcpConnection>& mine = open[turn % open.size()];
      try {
        mine.reset();
        mine.emplace(address, static_cast<std::uint16_t>(ports[turn % ports.size()]), 5);
        if (!says.empty()) mine->write(says);
      } catch (const Error&) {  // the receiver refused the connection
      }
      if (turn % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  // Replayed bytes look like a rank's first words: a greeting, and a code that was valid once.
  std::vector<std::byte> garbage(4096, std::byte{'x'}), replayed(40 + 32, std::byte{7});
  std::memcpy(replayed.data(), "dt-chan1", 8);
  struct Strangers {
    explicit Strangers(std::atomic<bool>& end) : is_over(end) {}
    ~Strangers() {
      is_over = true;
      for (std::thread& thread : threads) thread.join();
    }
    std::atomic<bool>& is_over;
    std::vector<std::thread> threads;
  };
  std::optional<Strangers> strangers;
  strangers.emplace(is_over);
  cluster.job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
    LocalTarget target(ranks, {cluster.disk(host), 20}, cluster.run, cluster.own, host);
    comm::run_collectively(ranks.world, [&] {
      if (!ranks.is_root()) return;
      const std::vector<int> ports = own_ports();
      REQUIRE_FALSE(ports.empty());
      strangers->threads.emplace_back(intrude, ports, num_idle, std::span<const std::byte>(), 0);
      strangers->threads.emplace_back(intrude, ports, num_garbage, garbage, 1);
      strangers->threads.emplace_back(intrude, ports, num_replayed, replayed, 2);
    });
    for (int i = 1; i <= num_saves; ++i) cluster.save_one(ranks, target, 10 * i);
    target.finish_removal();
  });
  strangers.reset();
  const std::vector<LocalCheckpoint> found = cluster.find(hosts);
  REQUIRE(found.size() == 1);
  CHECK(found[0].step == 10 * num_saves);
  CHECK(found[0].holders == std::vector<std::vector<int>>{{0, 1}, {0, 1}});  // each shard is on both nodes
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

TEST_CASE("a node's shard holds what its own ranks wrote and what those of the node before it did") {
  const Cluster cluster(2);
  cluster.save({"a", "b", "c"}, {10});
  const std::vector<LocalCheckpoint> found = cluster.find({"a", "b", "c"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].holders == std::vector<std::vector<int>>{{0, 1}, {0, 1}, {1, 2}, {1, 2}, {0, 2}, {0, 2}});
}

TEST_CASE("two neighbours lost are too many, and that is said") {
  const Cluster cluster;
  cluster.save({"a", "b", "c", "d"}, {10});
  CHECK(contains(
      cluster.promote({"a", "d"}),
      "3 step 10 was saved as a local checkpoint only: no node of this job holds the files of rank 1 of 4"));
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
  for (const std::string& host : hosts) fs::rename(cluster.shard(host, 10), cluster.folder / host);
  cluster.save(hosts, {20});
  for (const std::string& host : hosts) fs::rename(cluster.folder / host, cluster.shard(host, 10));
  fs::remove_all(cluster.disk("a"));
  const fs::path copy = cluster.shard("b", 20) / checkpoint::piece_file_name(0);  // copy of rank 0's shard
  if (is_cut_off)
    fs::remove(copy);
  else
    flip(copy);
  cluster.job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
    const Promotion promotion(ranks, cluster.disk(host).string(), cluster.run, host);
    const std::vector<LocalCheckpoint> found = promotion.find();
    comm::run_collectively(ranks.world, [&] { REQUIRE(found.size() == 2); });
    promotion.promote_newest(found);
  });
  CHECK(cluster.is_right(10));
  CHECK(cluster.entries(cluster.run.checkpoints_path()) == 1);
}

TEST_CASE("where a shard is damaged, another node's is taken; where both are, nothing appears") {
  const Cluster cluster;
  cluster.save({"a", "b", "c"}, {10});
  flip(cluster.shard("a", 10) / checkpoint::piece_file_name(0));
  flip(cluster.shard("c", 10) / checkpoint::piece_file_name(1));
  SECTION("one of two") {
    const std::size_t max_files_with_list = GENERATE(2, 3);  // three have an index of pieces, or none
    CHECK(cluster.promote({"a", "b", "c"}, max_files_with_list) == "");
    CHECK(cluster.is_right(10));
    const fs::path path =
        cluster.run.checkpoints_path() / checkpoint::checkpoint_name(10, cluster.own.number);
    const Manifest manifest = checkpoint::load_manifest(path);
    CHECK(manifest.index.has_value() == (max_files_with_list < 3));
    CHECK(manifest.files.at(2).name == checkpoint::piece_file_name(2));
    CHECK(cluster.entries(path) == (manifest.index ? 5 : 4));
  }
  SECTION("both") {
    flip(cluster.shard("b", 10) / checkpoint::piece_file_name(0));
    const std::string why = cluster.promote({"a", "b", "c"});
    CHECK(contains(why, "3 files of rank 0: "));
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
  CHECK_FALSE(fs::exists(cluster.shard("a", 20)));
  cluster.job({"a", "b"}, [&](const comm::Ranks& ranks, const std::string& host) {
    LocalTarget target(ranks, {cluster.disk(host), 20}, cluster.run, cluster.own, host);
    target.clear();
  });
  CHECK(cluster.find({"a", "b"}).empty());
}

TEST_CASE("a copy that cannot be made is warned of, and the last checkpoint that has all copies stays") {
  const Cluster cluster;
  const std::vector<std::string> hosts = {"a", "b", "c"};
  const auto save = [&](const comm::Ranks& ranks, LocalTarget& target, std::int64_t step, bool breaks) {
    const Manifest manifest = cluster.header(step, 3);
    const fs::path unfinished = target.begin(manifest);
    const int rank = ranks.world.rank();
    const fs::path in_the_way = unfinished / checkpoint::piece_file_name(0);  // place of rank 0's copy, on b
    comm::run_collectively(ranks.world, [&] {
      checkpoint::write_shard(unfinished, manifest, rank,
                              checkpoint::test::share_of(cluster.pieces.list, rank, 3));
      if (breaks && rank == 1) fs::create_directory(in_the_way);
    });
    comm::run_collectively(ranks.world, [&] { target.finish_shard([] {}); });
    SavedCheckpoint saved;
    comm::run_collectively(ranks.world, [&] {
      if (breaks && rank == 1) fs::remove(in_the_way);
      target.commit(saved, 3, {});
    });
    target.complete(saved);
    if (ranks.is_root()) CHECK(saved.num_without_copy == (breaks ? 1 : 0));
    target.end(true);
    target.confirm_weights(step);
    target.finish_removal();
  };
  const auto steps = [&] {
    std::vector<std::int64_t> found;
    for (const LocalCheckpoint& local : cluster.find(hosts)) {
      CHECK(local.why_incomplete().empty());
      found.push_back(local.step);
    }
    return found;
  };
  bool heals = GENERATE(false, true);
  cluster.job(hosts, [&](const comm::Ranks& ranks, const std::string& host) {
    LocalTarget target(ranks, {cluster.disk(host), 20}, cluster.run, cluster.own, host);
    save(ranks, target, 10, false);
    save(ranks, target, 20, true);
    save(ranks, target, 30, true);
    if (heals) save(ranks, target, 40, false);
  });
  if (heals) {
    CHECK(steps() == std::vector<std::int64_t>{40});
    return;
  }
  CHECK(steps() == std::vector<std::int64_t>{30, 10});
  fs::remove_all(cluster.disk("a"));  // removes what rank 0 wrote of step 30
  const std::vector<LocalCheckpoint> found = cluster.find({"d", "b", "c"});
  REQUIRE(found.size() == 2);
  CHECK_FALSE(found[0].why_incomplete().empty());
  CHECK(found[1].why_incomplete().empty());
}

TEST_CASE("saves go on and are whole while strangers crowd the port of copies") {
  crowd(3, 60, 10, 10);
}

TEST_CASE("fifty saves go on and are whole while many strangers crowd the port", "[.][long]") {
  crowd(50, 700, 100, 100);
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
      LocalTarget target(ranks, {cluster.disk(host), 20}, cluster.run, cluster.own, host);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::environment && contains(error.message(), "disk-b")) ++told;
    }
  });
  CHECK(told == 2);
}

}  // namespace
}  // namespace dt::run
