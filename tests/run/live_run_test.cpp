#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "checkpoint/sample.hpp"
#include "run/generation.hpp"
#include "run/run_directory.hpp"

namespace dt::run {
namespace {

using checkpoint::test::contains;
using checkpoint::test::error_of;
using checkpoint::test::TempFolder;

/// Sets the two variables by which Slurm tells a job's lives apart. The destructor removes both,
/// whatever they were before.
struct SlurmLife {
  SlurmLife(const char* job, const char* restarts) {
    ::setenv("SLURM_JOB_ID", job, 1);
    if (restarts != nullptr) ::setenv("SLURM_RESTART_COUNT", restarts, 1);
  }
  ~SlurmLife() {
    ::unsetenv("SLURM_JOB_ID");
    ::unsetenv("SLURM_RESTART_COUNT");
  }
};

RunDirectory made(const fs::path& path) {
  RunDirectory run(path);
  run.create();
  return run;
}

std::string refusal(const RunDirectory& run) {
  return error_of(ErrorKind::environment, [&] { RunLock::require_not_held(run); });
}

TEST_CASE("a run that is alive refuses another start, naming its holder; a dead one does not") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  CHECK(refusal(run).empty());
  {
    const Generation own = run.claim("", 0);
    const RunLock alive(run, own);
    CHECK(alive.is_supported());
    const std::string message = refusal(run);
    CHECK(contains(message, "generation 1"));
    CHECK(contains(message, fmt::format("process {} on {}", own.process, own.host)));
  }
  CHECK(refusal(run).empty());
}

TEST_CASE("the lock ends with its process, however that ends") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunLock alive(run, run.claim("", 0));
    [[maybe_unused]] const auto count = ::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(contains(refusal(run), fmt::format("process {}", child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(refusal(run).empty());
  const RunLock successor(run, run.claim("", 0));
}

TEST_CASE("a job that Slurm started again ignores its former life, and nothing else") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  std::optional<RunLock> zombie;
  {
    const SlurmLife first("77", nullptr);
    zombie.emplace(run, run.claim("", 0));
    CHECK(contains(refusal(run), "Slurm job 77"));
  }
  CHECK_FALSE(refusal(run).empty());
  {
    const SlurmLife other("78", "1");
    CHECK_FALSE(refusal(run).empty());
  }
  const SlurmLife second("77", "1");
  CHECK(refusal(run).empty());
  const Generation own = run.claim("", 0);
  const RunLock alive(run, own);
  CHECK_FALSE(refusal(run).empty());
  ::setenv("SLURM_RESTART_COUNT", "2", 1);
  CHECK(refusal(run).empty());
  ::setenv("SLURM_RESTART_COUNT", "0", 1);
  CHECK_FALSE(refusal(run).empty());
}

Generation claimed_by(const RunDirectory& run, const char* job, const char* restarts) {
  const SlurmLife life(job, restarts);
  return run.claim("", 0);
}

TEST_CASE("the holder of a run gives way to a later start of its job, not to a claim about to be withdrawn") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  const Generation own = claimed_by(run, "77", nullptr);
  std::optional<RunLock> alive;
  {
    const SlurmLife first("77", nullptr);
    alive.emplace(run, own);
  }
  CHECK_FALSE(run.is_superseded(own));
  const Generation other = claimed_by(run, "78", "1");
  CHECK_FALSE(run.is_superseded(own));
  const Generation later = claimed_by(run, "77", "1");
  CHECK(run.is_superseded(own));
  run.withdraw(later);
  CHECK_FALSE(run.is_superseded(own));
  checkpoint::test::write_text(run.generation_path(later.number), "{\"torn");
  CHECK_FALSE(run.is_superseded(own));
  alive.reset();  // as if a file server forgot its locks
  CHECK(run.is_superseded(own));
  fs::remove(run.generation_path(later.number));
  CHECK(run.is_superseded(own));
  run.withdraw(other);
  CHECK_FALSE(run.is_superseded(own));
}

TEST_CASE("the holder of a run withdraws the claims of starts that died, and nothing else") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  const Generation own = claimed_by(run, "77", "1");
  std::optional<RunLock> alive;
  {
    const SlurmLife first("77", "1");
    alive.emplace(run, own);
  }
  const auto stays = [&](const Generation& other) {
    run.withdraw_abandoned(own);
    const auto claimed = run.generations();
    return std::any_of(claimed.begin(), claimed.end(),
                       [&](const Generation& g) { return g.number == other.number; });
  };
  const Generation dead = run.claim("", 0);
  CHECK_FALSE(stays(dead));
  CHECK(stays(own));
  // This start was only slow: it finds its claim withdrawn.
  CHECK(
      contains(error_of(ErrorKind::environment, [&] { RunLock late(run, dead); }), "withdrew generation 2"));

  const Generation probing = run.claim("", 0);
  {
    FileLock held;
    REQUIRE(held.try_lock(run.generation_lock_path(probing.number)) == FileLock::Outcome::acquired);
    CHECK(stays(probing));
  }
  const Generation saving = run.claim("", 0);
  checkpoint::test::write_small(run.checkpoints_path(), 10, saving.number);
  CHECK(stays(saving));
  CHECK(stays(claimed_by(run, "77", "2")));  // a later life of the same job
  alive.reset();                             // as if a file server forgot its locks
  CHECK(stays(run.claim("", 0)));
}

TEST_CASE("whoever may only read a run cannot hold it up") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  const Generation own = run.claim("", 0);
  struct stat status {};
  REQUIRE(::stat(run.generation_lock_path(1).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  const int reader = ::open(run.generation_path(1).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(::flock(reader, LOCK_EX) == 0);
  RunLock::require_not_held(run);
  const RunLock alive(run, own);
  CHECK(alive.is_supported());
  ::close(reader);
}

TEST_CASE("a run that an older dt holds is alive") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  run.claim("", 0);
  fs::remove(run.generation_lock_path(1));
  FileLock held;
  REQUIRE(held.try_lock(run.generation_path(1), Owner::anyone) == FileLock::Outcome::acquired);
  CHECK(contains(error_of(ErrorKind::environment, [&] { RunLock::require_not_held(run); }),
                 "another dt-train is running"));
}

TEST_CASE("a start holds its generation's file, too, where an older dt looks for it") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  const Generation own = run.claim("", 0);
  const RunLock alive(run, own);
  CHECK(FileLock().try_lock(run.generation_path(1), Owner::anyone) == FileLock::Outcome::busy);
}

TEST_CASE("another's lock that may not be opened ends nothing, and a living start is found all the same") {
  if (::geteuid() != 0) return;
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  for (const fs::path& path : {folder.path(), run.path(), run.checkpoints_path(), run.generations_path()})
    REQUIRE(::chmod(path.c_str(), 0777) == 0);
  const Generation own = run.claim("", 0);
  run.claim("", 0);
  FileLock().try_lock(run.generations_path() / "0003.lock", Owner::anyone);
  for (const char* name : {"0001.lock", "0002.lock", "0003.lock"})
    REQUIRE(::chmod((run.generations_path() / name).c_str(), 0600) == 0);
  const auto as_other = [](const std::function<void()>& act) {
    REQUIRE(::seteuid(65534) == 0);
    try {
      act();
    } catch (...) {
      REQUIRE(::seteuid(0) == 0);
      throw;
    }
    REQUIRE(::seteuid(0) == 0);
  };
  as_other([&] { RunLock::require_not_held(run); });
  FileLock held;
  REQUIRE(held.try_lock(run.generation_path(1), Owner::anyone) == FileLock::Outcome::acquired);
  CHECK(contains(error_of(ErrorKind::environment, [&] { as_other([&] { RunLock::require_not_held(run); }); }),
                 "another dt-train is running"));
  as_other([&] { CHECK(run.claim("", 0).number == 4); });
}

TEST_CASE("a start that finds itself overtaken withdraws its claim") {
  const TempFolder folder;
  const RunDirectory run = made(folder / "run");
  const Generation older = run.claim("", 0);
  const Generation newer = run.claim("", 0);
  CHECK(contains(error_of(ErrorKind::environment, [&] { RunLock alive(run, older); }), "generation 2"));
  CHECK(run.generations().size() == 1);
  const RunLock alive(run, newer);
  const Generation late = run.claim("", 0);
  CHECK(late.number == 3);
  CHECK(contains(error_of(ErrorKind::environment, [&] { RunLock other(run, late); }), "generation 2"));
  CHECK(run.generations().size() == 1);
  CHECK(run.claim("", 0).number == 4);
}

TEST_CASE("of many starts at once exactly one goes on, and its generation is the newest") {
  const TempFolder folder;
  for (int round = 0; round < 3; ++round) {
    const RunDirectory run = made(folder / fmt::format("run{}", round));
    checkpoint::test::write_small(run.checkpoints_path(), 10, run.claim("", 0).number);
    std::atomic<int> waiting{6};
    std::atomic<int> alive{0};
    std::atomic<std::int64_t> survivor{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        const auto wait_for_others = [&] {
          waiting.fetch_sub(1);
          while (waiting.load() > 0) std::this_thread::yield();
        };
        const Generation own = run.claim("step-00000010.g1", 10);
        try {
          const RunLock life(run, own);
          alive.fetch_add(1);
          survivor = own.number;
          wait_for_others();
        } catch (const Error&) {
          wait_for_others();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(alive == 1);
    const std::vector<Generation> left = run.generations();
    REQUIRE(left.size() == 2);
    CHECK(left.back().number == survivor);
    CHECK(run.lineage().size() == 1);
  }
}

std::string moved(const RunLock& alive) {
  return error_of(ErrorKind::environment, [&] { alive.check_still_held(); });
}

TEST_CASE(
    "a job whose folder was moved, replaced or copied over is told, and one whose folder is in place is "
    "not") {
  const TempFolder folder;
  const fs::path path = folder / "run", away = folder / "away";
  const RunDirectory run = made(path);
  const Generation own = run.claim("", 0);
  const RunLock alive(run, own);
  CHECK(own.folder == fs::canonical(path));
  CHECK(run.generations().at(0).folder == own.folder);
  CHECK(moved(alive).empty());
  fs::rename(path, away);
  CHECK(contains(moved(alive), "0001.json is missing: the run directory was moved or replaced"));
  SECTION("a new run has the name") {
    made(path).claim("/other/step-00000010.g1", 10);
    CHECK(contains(moved(alive), "belongs to another start"));
  }
  SECTION("a copy of the run has the name") {
    fs::copy(away, path, fs::copy_options::recursive);
    CHECK(contains(moved(alive), "is a copy"));
  }
  SECTION("the file has another number, but is the one that is held") {
    // After a file server's failure the file may be another one, which is locked and has the same
    // content.
    fs::copy(away, path, fs::copy_options::recursive);
    FileLock held;
    REQUIRE(held.try_lock(run.generation_lock_path(1)) == FileLock::Outcome::acquired);
    CHECK(moved(alive).empty());
  }
  SECTION("it is back") {
    fs::rename(away, path);
    CHECK(moved(alive).empty());
  }
}

}  // namespace
}  // namespace dt::run
