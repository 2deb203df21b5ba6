#include "run/local_store.hpp"

#include <catch2/catch.hpp>

#include "base/tcp.hpp"
#include "checkpoint/part_file.hpp"
#include "checkpoint/sample.hpp"
#include "run/part_copy.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::Pieces;
using checkpoint::test::TempFolder;

/// A run and one host's store, whose saves are those of two writers.
struct Stage {
  Stage() {
    run.create();
    own = run.claim("", 0);
    store.open();
    pieces = checkpoint::test::model_pieces(checkpoint::test::sample_manifest().model);
  }
  checkpoint::Manifest header(std::int64_t step) const {
    return checkpoint::test::sample_manifest(step, own.number);
  }
  std::string claim() const { return read_file(run.generation_path(own.number)); }
  void write(const LocalStore& into, std::int64_t step, int writer) const {
    checkpoint::write_part(into.unfinished_path(step, own.number), header(step), writer,
                           checkpoint::test::share_of(pieces.list, writer, 2));
  }
  fs::path save(std::int64_t step, std::vector<int> writers) const {
    store.begin(step, own.number);
    for (const int writer : writers) write(store, step, writer);
    return store.commit(header(step), claim());
  }
  std::vector<LocalShare> shares() const {
    std::vector<checkpoint::Problem> problems;
    return store.shares(problems);
  }

  TempFolder folder;
  RunDirectory run{folder / "run"};
  Generation own;
  LocalStore store{folder / "local", run, "n1"};
  Pieces pieces;
};

void flip(const fs::path& path) {
  std::string text = read_file(path);
  text[text.size() / 2] ^= 16;
  checkpoint::test::write_text(path, text);
}

TEST_CASE("a share is found once it is committed, with the writers whose files are there") {
  const Stage stage;
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 1);
  CHECK(stage.shares().empty());
  const fs::path path = stage.store.commit(stage.header(10), stage.claim());
  REQUIRE(stage.shares().size() == 1);
  const LocalShare share = stage.shares().front();
  CHECK(share.path == path);
  CHECK(share.writers == std::vector<int>{1});
  CHECK(share.header.state.data_digest == stage.header(10).state.data_digest);
  CHECK(num_writers(share.header) == 2);
  CHECK_FALSE(share.header.created.empty());
  // It is no checkpoint to anybody else.
  CHECK(contains(error_of(ErrorKind::input, [&] { checkpoint::load_manifest(path); }), "not a checkpoint"));
  CHECK(stage.store.share_paths(10, 1) == std::vector<fs::path>{path});
  CHECK(stage.store.share_paths(10, 2).empty());

  SECTION("a file that is short, or a part that is damaged, is not there") {
    fs::resize_file(path / checkpoint::piece_file_name(1), 100);
    CHECK(stage.shares().front().writers.empty());
    flip(path / checkpoint::part_file_name(1));
    CHECK(stage.shares().front().writers.empty());
  }
  SECTION("a damaged header is a problem that is named") {
    flip(path / "header.json");
    std::vector<checkpoint::Problem> problems;
    CHECK(stage.store.shares(problems).empty());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == path.string());
  }
}

TEST_CASE("shares of another run that had the same path are not taken, and removed") {
  Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  fs::remove_all(stage.run.path());
  stage.run.create();
  CHECK(stage.shares().empty());
  stage.store.open();
  CHECK(fs::exists(path));  // it may be a generation that this host does not see yet
  Generation again = stage.run.claim("", 0);
  REQUIRE(again.number == 1);
  checkpoint::test::write_text(stage.run.generation_path(1), stage.claim() + " ");  // as of another second
  CHECK(stage.shares().empty());
  CHECK(stage.store.share_paths(10, 1).empty());
  stage.store.open();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("shares under a claim that was emptied by hand are kept and named") {
  const Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  stage.run.withdraw(stage.own);
  std::vector<checkpoint::Problem> problems;
  CHECK(stage.store.shares(problems).empty());
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].where == path.string());
  stage.store.open();
  CHECK(fs::exists(path));
}

TEST_CASE("a run at another path has a folder of its own") {
  const Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  fs::copy(stage.run.path(), stage.folder / "fork", fs::copy_options::recursive);
  const RunDirectory fork(stage.folder / "fork");
  std::vector<checkpoint::Problem> problems;
  CHECK(LocalStore(stage.folder / "local", fork, "n1").shares(problems).empty());
  CHECK(LocalStore(stage.folder / "local", stage.run, "n2").shares(problems).size() ==
        1);  // the host's name changed
}

TEST_CASE("older shares go, newer generations' stay, and so does nothing of a killed save") {
  Stage stage;
  stage.save(10, {0});
  stage.save(20, {0});
  const fs::path newest = stage.save(30, {0});
  const Generation next = stage.run.claim("step-00000020.g1", 20);
  stage.own = next;
  const fs::path of_next = stage.save(25, {0});
  stage.store.remove_older(1, {{}, 30, 1});
  CHECK(fs::exists(newest));
  CHECK(fs::exists(of_next));
  CHECK(stage.shares().size() == 2);
  stage.store.remove_older(2, {{}, 25, 2});
  CHECK(stage.shares().size() == 1);
  stage.store.begin(30, 2);
  stage.write(stage.store, 30, 0);
  stage.store.open();
  CHECK_FALSE(fs::exists(stage.store.unfinished_path(30, 2)));
  CHECK(fs::exists(of_next));
  stage.store.clear(1);
  stage.store.clear(2, {{}, 25, 2});
  CHECK(stage.shares().size() == 1);
  stage.store.clear(2);
  CHECK(stage.shares().empty());
  CHECK(fs::is_empty(stage.folder / "local"));
}

TEST_CASE("a part is copied with every byte checked; of a damaged one nothing is left") {
  const Stage stage;
  const fs::path share = stage.save(10, {0, 1});
  checkpoint::UnfinishedCheckpoint unfinished(stage.run.checkpoints_path(), 10, 1);
  copy_part(share, stage.header(10), 0, unfinished.path());
  const std::uint64_t bytes = fs::file_size(share / checkpoint::piece_file_name(1));
  const std::string whole = read_file(share / checkpoint::piece_file_name(1));
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
    std::string text = whole;
    text[at] ^= 1;
    checkpoint::test::write_text(share / checkpoint::piece_file_name(1), text);
    const std::string why =
        error_of(ErrorKind::input, [&] { copy_part(share, stage.header(10), 1, unfinished.path()); });
    CHECK(contains(why, (share / checkpoint::piece_file_name(1)).string()));
    CHECK_FALSE(fs::exists(unfinished.path() / checkpoint::piece_file_name(1)));
    CHECK_FALSE(fs::exists(unfinished.path() / checkpoint::part_file_name(1)));
  }
  checkpoint::test::write_text(share / checkpoint::piece_file_name(1), whole);
  copy_part(share, stage.header(10), 1, unfinished.path());
  const fs::path path = unfinished.commit(stage.header(10), 2);
  CHECK(checkpoint::verify_checkpoint(path).empty());
}

TEST_CASE("a part that is sent arrives as it is; strangers and what cannot be written are refused") {
  const Stage stage;
  const LocalStore other(stage.folder / "disk2", stage.run, "n2");
  const PartToken token = make_part_token();
  TcpListener listener(20, [&](TcpConnection& c) { receive_part(c, token, other, 20); });
  const auto send = [&](const PartToken& with, int writer) {
    TcpConnection connection("127.0.0.1", listener.port(), 20);
    send_part(connection, with, stage.store.unfinished_path(10, 1), 10, 1, writer);
  };
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 0);
  stage.write(stage.store, 10, 1);

  CHECK(contains(error_of(ErrorKind::environment, [&] { send(token, 0); }), "disk2"));  // no folder
  other.open();
  other.begin(10, 1);
  CHECK_FALSE(error_of(ErrorKind::environment, [&] { send(make_part_token(), 0); }).empty());
  CHECK(fs::is_empty(other.unfinished_path(10, 1)));
  {
    TcpConnection connection("127.0.0.1", listener.port(), 20);
    ask_receiver(connection, token);
  }
  send(token, 0);
  send(token, 1);
  const fs::path share = other.commit(stage.header(10), stage.claim());
  for (const std::string& name : {checkpoint::piece_file_name(0), checkpoint::part_file_name(0),
                                  checkpoint::piece_file_name(1), checkpoint::part_file_name(1)})
    CHECK(read_file(share / name) == read_file(stage.store.unfinished_path(10, 1) / name));
}

TEST_CASE("a writer without elements sends its part alone") {
  const Stage stage;
  stage.store.begin(10, 1);
  checkpoint::write_part(stage.store.unfinished_path(10, 1), stage.header(10), 0, {});
  const LocalStore other(stage.folder / "disk2", stage.run, "n2");
  other.open();
  other.begin(10, 1);
  const PartToken token = make_part_token();
  TcpListener listener(20, [&](TcpConnection& c) { receive_part(c, token, other, 20); });
  TcpConnection connection("127.0.0.1", listener.port(), 20);
  send_part(connection, token, stage.store.unfinished_path(10, 1), 10, 1, 0);
  CHECK(fs::exists(other.unfinished_path(10, 1) / checkpoint::part_file_name(0)));
  CHECK_FALSE(fs::exists(other.unfinished_path(10, 1) / checkpoint::piece_file_name(0)));
  other.commit(stage.header(10), stage.claim());
  std::vector<checkpoint::Problem> problems;
  CHECK(other.shares(problems).at(0).writers == std::vector<int>{0});
}

}  // namespace
}  // namespace dt::run
