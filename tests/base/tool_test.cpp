#include "base/cli/tool.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <optional>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::Captured;

namespace {

struct Result {
  int code;
  std::string out;
  std::string err;
};

Result run_with(std::vector<const char*> arguments, const std::function<int(Console&)>& run) {
  const Captured out(STDOUT_FILENO);
  const Captured err(STDERR_FILENO);
  arguments.insert(arguments.begin(), "dt-test");
  OptionTable options("dt-test", "tests");
  const int code =
      run_tool(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()), options, run);
  return {code, out.text(), err.text()};
}

}  // namespace

TEST_CASE("a tool's exit code is what run returns") {
  CHECK(run_with({}, [](Console&) { return 0; }).code == 0);
  CHECK(run_with({}, [](Console&) { return 75; }).code == 75);
}

TEST_CASE("an error is one line on stderr and the exit code of its kind") {
  const Result result = run_with({}, [](Console& console) -> int {
    console.write_text("partial\n");
    throw Error(ErrorKind::input, "a.h5 is truncated", "copy it again");
  });
  CHECK(result.code == 3);
  CHECK(result.out == "partial\n");
  CHECK(result.err == "dt-test: error: a.h5 is truncated; copy it again\n");
}

TEST_CASE("other exceptions have exit codes too") {
  const Result memory = run_with({}, [](Console&) -> int { throw std::bad_alloc(); });
  CHECK(memory.code == 4);
  CHECK(memory.err.find("out of memory") != std::string::npos);
  const Result defect = run_with({}, [](Console&) -> int { throw std::out_of_range("map"); });
  CHECK(defect.code == 1);
  CHECK(defect.err.find("internal error: map") != std::string::npos);
}

TEST_CASE("a usage error does not run the tool") {
  const Result result = run_with({"--nonsense"}, [](Console&) -> int { return 0; });
  CHECK(result.code == 2);
  CHECK(result.err == "dt-test: error: unknown option '--nonsense'; see --help\n");
}

TEST_CASE("help and version go to stdout and do not run the tool") {
  const auto forbidden = [](Console&) -> int { return 1; };
  const Result help = run_with({"--help"}, forbidden);
  CHECK(help.code == 0);
  CHECK(help.out.find("usage: dt-test") != std::string::npos);
  const Result version = run_with({"--version"}, forbidden);
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("dt-test "));
  const Result all = run_with({"--help-all"}, forbidden);
  CHECK(all.code == 0);
  CHECK(all.out.find("--json") != std::string::npos);
  const Result report = run_with({"--verbose", "--version"}, forbidden);
  CHECK(report.code == 0);
  for (const char* line : {"  source revision: ", "  MPI: ", "  processor: ", "  C library: "})
    CHECK(report.out.find(line) != std::string::npos);
}

TEST_CASE("standard options reach the console") {
  const Result result = run_with({"--json", "--quiet"}, [](Console& console) {
    console.info("hidden");
    console.warn("shown");
    return console.json() ? 0 : 1;
  });
  CHECK(result.code == 0);
  CHECK(result.err == "dt-test: warning: shown\n");
}

TEST_CASE("a stdout that cannot be written is exit 4, also for --help") {
  OptionTable options("dt-test", "tests");
  const char* arguments[] = {"dt-test", "--help"};
  int code = 0;
  const Captured err(STDERR_FILENO);
  {
    const Captured full(STDOUT_FILENO, "/dev/full");
    code = run_tool(2, const_cast<char**>(arguments), options, [](Console&) { return 0; });
  }
  CHECK(code == 4);
  CHECK(err.text().find("No space left on device") != std::string::npos);
}

TEST_CASE("a tool whose reader went away ends quietly by SIGPIPE") {
  const Captured err(STDERR_FILENO);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    OptionTable options("dt-test", "tests");
    const char* arguments[] = {"dt-test"};
    _exit(run_tool(1, const_cast<char**>(arguments), options, [](Console& console) {
      console.write_text("data");
      return 0;
    }));
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[1]);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGPIPE);
  CHECK(err.text().empty());
}

namespace {

/// Returns what the process with this number, of several, says of a command line with an unknown option.
Result misused(bool as_ranks, const char* number, std::vector<const char*> arguments) {
  ::setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  ::setenv("SLURM_PROCID", number, 1);
  OptionTable options("dt-test", "tests");
  std::optional<std::string> comm;
  std::optional<bool> share_tasks;
  if (as_ranks) {
    options.add("comm", &comm, "HOW", "how ranks talk").run_as_ranks();
  } else {
    options.add("share-tasks", &share_tasks, "share");
  }
  Result result;
  {
    const Captured err(STDERR_FILENO);
    arguments.insert(arguments.begin(), "dt-test");
    arguments.push_back("--nonsense");
    result.code = run_tool(static_cast<int>(arguments.size()), const_cast<char**>(arguments.data()), options,
                           [](Console&) { return 0; });
    result.err = err.text();
  }
  ::unsetenv("SLURM_STEP_NUM_TASKS");
  ::unsetenv("SLURM_PROCID");
  return result;
}

}  // namespace

TEST_CASE("a usage error is told once by ranks and sharing tasks, and by each process that works alone") {
  for (const bool as_ranks : {true, false}) CHECK(misused(as_ranks, "0", {}).err.size() > 0);
  CHECK(misused(true, "1", {}).err.empty());
  CHECK(misused(true, "1", {"--comm", "mpi"}).err.empty());
  CHECK(misused(true, "1", {"--comm=self"}).err.find("'--nonsense'") != std::string::npos);
  CHECK(misused(true, "1", {"--comm", "threads=2"}).err.find("'--nonsense'") != std::string::npos);
  CHECK(misused(false, "1", {"--share-tasks"}).err.empty());
  CHECK(misused(false, "1", {"--no-share-tasks"}).err.find("'--nonsense'") != std::string::npos);
  CHECK(misused(false, "1", {}).err.find("'--nonsense'") != std::string::npos);
  CHECK(misused(false, "1", {"--share-tasks"}).code == 2);
}
