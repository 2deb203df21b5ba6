#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/limits.hpp"
#include "base/test_folder.hpp"

using namespace dt;
using dt_test::caught;

TEST_CASE("threads that the system grants are held and joined") {
  CHECK_FALSE(caught([] { require_threads(8); }).thrown);
  CHECK_FALSE(caught([] { require_threads(0); }).thrown);
}

TEST_CASE("threads beyond a limit are an environment error that names the limit") {
  const pid_t child = ::fork();
  if (child == 0) {  // each stack takes about 8 MiB of the address space
    const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto error = caught([] { require_threads(10000); });
    const bool is_named = error.says("cannot start 10000 threads") && error.says("ulimit -v");
    ::_exit(error.kind == ErrorKind::environment && is_named ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
