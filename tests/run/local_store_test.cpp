#include "run/local/local_store.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "checkpoint/sample.hpp"
#include "checkpoint/writer.hpp"
#include "checkpoint/writer_manifest.hpp"
#include "run/local_saves.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;
using test::Stage;

void flip(const fs::path& path) {
  std::string text = read_file(path);
  text[text.size() / 2] ^= 16;
  checkpoint::test::write_text(path, text);
}

TEST_CASE("a shard is found once it is committed, with the writers whose files are there") {
  const Stage stage;
  stage.store.begin(10, 1);
  stage.write(stage.store, 10, 1);
  CHECK(stage.shards().empty());
  const fs::path path = stage.store.commit(stage.header(10), stage.claim());
  REQUIRE(stage.shards().size() == 1);
  const LocalShard shard = stage.shards().front();
  CHECK(shard.path == path);
  CHECK(shard.writers == std::vector<int>{1});
  CHECK(shard.header.state.data_digest == stage.header(10).state.data_digest);
  CHECK(num_writers(shard.header) == 2);
  CHECK_FALSE(shard.header.created.empty());
  // Other code does not take the shard for a checkpoint.
  CHECK(contains(error_of(ErrorKind::input, [&] { checkpoint::load_manifest(path); }), "not a checkpoint"));
  CHECK(stage.store.shard_paths(10, 1) == std::vector<fs::path>{path});
  CHECK(stage.store.shard_paths(10, 2).empty());

  SECTION("a file that is short, or a part that is damaged, is not there") {
    fs::resize_file(path / checkpoint::piece_file_name(1), 100);
    CHECK(stage.shards().front().writers.empty());
    flip(path / checkpoint::writer_manifest_name(1));
    CHECK(stage.shards().front().writers.empty());
    CHECK(contains(
        error_of(ErrorKind::input,
                 [&] { stage.store.copy_writer_files(path, stage.header(10), 1, stage.folder / "run"); }),
        "does not match its code"));
  }
  SECTION("a damaged header is a problem that is named") {
    flip(path / "header.json");
    std::vector<checkpoint::Problem> problems;
    CHECK(stage.store.shards(problems).empty());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == path.string());
  }
}

TEST_CASE("shards of another run that had the same path are not taken, and removed") {
  Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  fs::remove_all(stage.run.path());
  stage.run.create();
  CHECK(stage.shards().empty());
  stage.store.open();
  CHECK(fs::exists(path));  // the generation may be one that this host does not see yet
  Generation again = stage.run.claim("", 0);
  REQUIRE(again.number == 1);
  checkpoint::test::write_text(stage.run.generation_path(1), stage.claim() + " ");  // another second's claim
  CHECK(stage.shards().empty());
  CHECK(stage.store.shard_paths(10, 1).empty());
  stage.store.open();
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("shards under a claim that was emptied by hand are kept and named") {
  const Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  stage.run.withdraw(stage.own);
  std::vector<checkpoint::Problem> problems;
  CHECK(stage.store.shards(problems).empty());
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
  CHECK(LocalStore(stage.folder / "local", fork, "n1", stage.key).shards(problems).empty());
  CHECK(LocalStore(stage.folder / "local", stage.run, "n2", stage.key).shards(problems).size() ==
        1);  // the host's name has changed
}

TEST_CASE("older shards go, newer generations' stay, and so does nothing of a killed save") {
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
  CHECK(stage.shards().size() == 2);
  stage.store.remove_older(2, {{}, 25, 2});
  CHECK(stage.shards().size() == 1);
  stage.store.begin(30, 2);
  stage.write(stage.store, 30, 0);
  stage.store.open();
  CHECK_FALSE(fs::exists(stage.store.unfinished_path(30, 2)));
  CHECK(fs::exists(of_next));
  stage.store.clear(1);
  stage.store.clear(2, {{}, 25, 2});
  CHECK(stage.shards().size() == 1);
  stage.store.clear(2);
  CHECK(stage.shards().empty());
  CHECK(fs::is_empty(stage.folder / "local" / fmt::format("dt-local-{}", ::geteuid())));
}

TEST_CASE("a part is copied with every byte checked; of a damaged one nothing is left") {
  const Stage stage;
  const fs::path shard = stage.save(10, {0, 1});
  checkpoint::CheckpointTransaction unfinished(stage.run.checkpoints_path(), 10, 1);
  stage.store.copy_writer_files(shard, stage.header(10), 0, unfinished.path());
  const std::uint64_t bytes = fs::file_size(shard / checkpoint::piece_file_name(1));
  const std::string whole = read_file(shard / checkpoint::piece_file_name(1));
  if (::geteuid() == 0) {  // another user's file is refused, even with the same bytes
    REQUIRE(::chown((shard / checkpoint::piece_file_name(1)).c_str(), 12345, 12345) == 0);
    CHECK(contains(
        error_of(ErrorKind::input,
                 [&] { stage.store.copy_writer_files(shard, stage.header(10), 1, unfinished.path()); }),
        "owned by uid 12345"));
    REQUIRE(::chown((shard / checkpoint::piece_file_name(1)).c_str(), 0, 0) == 0);
  }
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
    std::string text = whole;
    text[at] ^= 1;
    checkpoint::test::write_text(shard / checkpoint::piece_file_name(1), text);
    const std::string why = error_of(ErrorKind::input, [&] {
      stage.store.copy_writer_files(shard, stage.header(10), 1, unfinished.path());
    });
    CHECK(contains(why, (shard / checkpoint::piece_file_name(1)).string()));
    CHECK_FALSE(fs::exists(unfinished.path() / checkpoint::piece_file_name(1)));
    CHECK_FALSE(fs::exists(unfinished.path() / checkpoint::writer_manifest_name(1)));
  }
  checkpoint::test::write_text(shard / checkpoint::piece_file_name(1), whole);
  stage.store.copy_writer_files(shard, stage.header(10), 1, unfinished.path());
  const fs::path path = unfinished.commit(stage.header(10), 2);
  CHECK(checkpoint::verify_checkpoint(path).empty());
}

TEST_CASE("a shard that the run's key has not signed is no candidate, and that is told") {
  const Stage stage;
  const fs::path path = stage.save(10, {0, 1});
  std::vector<checkpoint::Problem> problems;
  const auto why = [&](const LocalStore& store) {
    problems.clear();
    CHECK(store.shards(problems).empty());
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].where == path.string());
    return problems[0].what;
  };
  const auto with = [&](std::optional<Secret> key) {
    return why(LocalStore(stage.folder / "local", stage.run, "n1", std::move(key)));
  };
  CHECK(contains(with(Secret::generate()), "does not match its code"));
  CHECK(contains(with(std::nullopt), ".key"));
  SECTION("a header of another's") {
    checkpoint::Manifest header = stage.header(10);
    header.state.data_digest += 1;
    checkpoint::test::write_text(path / "header.json", to_json(header));
    CHECK(contains(why(stage.store), "header.json does not match its code"));
  }
  SECTION("of a dt that wrote no codes") {
    fs::remove(path / "codes");
    CHECK(contains(why(stage.store), "codes is missing"));
  }
  SECTION("under another step") {
    fs::rename(path, path.parent_path() / "step-00000020.g1");
    problems.clear();
    CHECK(stage.store.shards(problems).empty());
    CHECK(problems.size() == 1);
  }
  SECTION("a part that came later") {
    checkpoint::test::write_text(path / checkpoint::writer_manifest_name(1),
                                 read_file(path / checkpoint::writer_manifest_name(0)));
    CHECK(stage.shards().at(0).writers == std::vector<int>{0});
  }
}

TEST_CASE("the run's key is its owner's alone, and made anew where it was not") {
  const Stage stage;
  const fs::path path = shard_key_path(stage.run);
  std::string why;
  CHECK_FALSE(load_shard_key(stage.run, why));
  CHECK(contains(why, "is missing"));
  const Secret key = load_or_create_shard_key(stage.run);
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(load_or_create_shard_key(stage.run).to_hex() == key.to_hex());
  CHECK(load_shard_key(stage.run, why).value().to_hex() == key.to_hex());
  fs::permissions(path, fs::perms::group_read, fs::perm_options::add);
  CHECK_FALSE(load_shard_key(stage.run, why));
  CHECK(contains(why, "other users may read"));
  const Secret next = load_or_create_shard_key(stage.run);
  CHECK(next.to_hex() != key.to_hex());
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  checkpoint::test::write_text(path, "short");
  CHECK_FALSE(load_shard_key(stage.run, why));
  CHECK(contains(why, "damaged"));
}

TEST_CASE("a store does not begin where others could exchange its folders") {
  const Stage stage;
  const fs::path local = stage.folder / "local";
  const auto is_refused = [&](const char* why) {
    CHECK(contains(error_of(ErrorKind::environment, [&] { stage.store.open(); }), why));
    CHECK(contains(error_of(ErrorKind::environment, [&] { stage.store.check_usable(); }), why));
  };
  REQUIRE(::chmod(local.c_str(), 0777) == 0);
  is_refused("local lets every user rename and replace its entries (mode 0777)");
  REQUIRE(::chmod(local.c_str(), 01777) == 0);
  CHECK(stage.store.open().empty());
  if (::geteuid() != 0) return;
  REQUIRE(::chown(local.c_str(), 0, 12345) == 0);
  REQUIRE(::chmod(local.c_str(), 0775) == 0);
  CHECK(contains(stage.store.open(), "members of group 12345 may rename files in"));
  REQUIRE(::chmod(stage.folder.path().c_str(), 01777) == 0);
  REQUIRE(::chown(local.c_str(), 12345, 12345) == 0);
  is_refused("local is a folder owned by uid 12345");
}

TEST_CASE("folders of shards are this user's alone, and others' are not used") {
  const Stage stage;
  stage.save(10, {0});
  const fs::path of_run = stage.store.path().parent_path(), of_user = of_run.parent_path();
  CHECK(of_user == stage.folder / "local" / fmt::format("dt-local-{}", ::geteuid()));
  const auto is_private = [](const fs::path& path) {
    return fs::status(path).permissions() == fs::perms::owner_all;
  };
  CHECK(is_private(of_user));
  CHECK(is_private(of_run));
  CHECK(is_private(stage.store.path()));
  fs::permissions(of_run, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  stage.store.open();  // an older dt left such permissions
  CHECK(is_private(of_run));

  fs::rename(of_run, stage.folder / "elsewhere");
  const auto is_refused = [&] {
    std::vector<checkpoint::Problem> problems;
    for (const std::string& why : {error_of(ErrorKind::environment, [&] { stage.store.open(); }),
                                   error_of(ErrorKind::environment, [&] { stage.store.check_usable(); }),
                                   error_of(ErrorKind::environment, [&] { stage.store.begin(20, 1); }),
                                   error_of(ErrorKind::environment, [&] { stage.store.shards(problems); })})
      CHECK(contains(why, of_run.string()));
  };
  SECTION("a link") {
    fs::create_directory_symlink(stage.folder / "elsewhere", of_run);
    is_refused();
    CHECK(fs::exists(stage.folder / "elsewhere" / "n1" / "step-00000010.g1"));
  }
  SECTION("another user's folder for this user") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(of_user.c_str(), 12345, 12345) == 0);
    CHECK(contains(error_of(ErrorKind::environment, [&] { stage.store.check_usable(); }), of_user.string()));
    CHECK(contains(error_of(ErrorKind::environment, [&] { stage.store.begin(20, 1); }), of_user.string()));
    CHECK(fs::is_empty(of_user));
  }
  SECTION("another user's folder") {
    if (::geteuid() != 0) return;
    fs::copy(stage.folder / "elsewhere", of_run, fs::copy_options::recursive);
    REQUIRE(::chown(of_run.c_str(), 12345, 12345) == 0);
    is_refused();
    CHECK(fs::exists(of_run / "n1" / "step-00000010.g1"));
  }
}

}  // namespace
}  // namespace dt::run
