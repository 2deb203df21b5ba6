#include "base/cli/console.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <signal.h>
#include <thread>
#include <unistd.h>

#include "base/test_folder.hpp"

using namespace dt;
using dt_test::Captured;
using dt_test::caught;

namespace {

ConsoleSettings settings(ProgressMode progress = ProgressMode::automatic) {
  ConsoleSettings s;
  s.tool = "dt-test";
  s.progress = progress;
  return s;
}

void wait_for_redraw() {
  std::this_thread::sleep_for(std::chrono::milliseconds(350));
}

}  // namespace

TEST_CASE("data goes to stdout and messages to stderr") {
  const Captured out(STDOUT_FILENO);
  const Captured err(STDERR_FILENO);
  Console console(settings());
  console.print("{} {}\n", "rows", 3);
  console.info("read {} files", 2);
  console.warn("{} is slow", "x");
  console.error("{} failed", "y");
  console.debug("hidden");
  CHECK(out.text() == "rows 3\n");
  CHECK(err.text() ==
        "dt-test: read 2 files\n"
        "dt-test: warning: x is slow\n"
        "dt-test: error: y failed\n");
}

TEST_CASE("names and texts of files do not reach a terminal raw") {
  const Captured out(STDOUT_FILENO);
  const Captured err(STDERR_FILENO);
  Console console(settings(ProgressMode::always));
  console.print("a\x1b[31m\n");
  console.write_bytes("a\x1b[31m\xff\n");  // standard output is no terminal here, so bytes pass unchanged
  console.error("cannot open a\n\x1b]0;x\x07\xff");
  console.error("tensor {} is unknown", std::string(1'000'000, 'n'));
  {
    Progress bar = console.progress("\x1b[2J", 10, "B");
    wait_for_redraw();
    bar.set(5);
  }
  CHECK(out.text() == "a\\u001B[31m\na\x1b[31m\xff\n");
  const std::string messages = err.text();
  CHECK(messages.starts_with("dt-test: error: cannot open a\\n\\u001B]0;x\\u0007\\xFF\n"));
  CHECK(messages.find("\\u001B[2J") != std::string::npos);
  CHECK(messages.find('\x1b') == std::string::npos);
  CHECK(messages.size() < 10'000);
}

TEST_CASE("--quiet silences what is not a warning, --verbose adds") {
  const Captured err(STDERR_FILENO);
  ConsoleSettings quiet = settings();
  quiet.quiet = true;
  Console console(quiet);
  console.info("hidden");
  console.warn("shown");
  ConsoleSettings verbose = settings();
  verbose.verbose = true;
  Console(verbose).debug("detail");
  CHECK(err.text() == "dt-test: warning: shown\ndt-test: detail\n");
}

TEST_CASE("a full stdout is an environment error") {
  const Captured out(STDOUT_FILENO, "/dev/full");
  Console console(settings());
  const auto error = caught([&] { console.write_text("x"); });
  CHECK(error.kind == ErrorKind::environment);
  CHECK(error.says("cannot write to standard output: No space left on device; "));
}

TEST_CASE("a reader that went away is recognised") {
  const auto previous = signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const int saved = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  Console console(settings());
  bool recognised = false;
  try {
    console.write_text("x");
  } catch (const Error& error) {
    recognised = error.kind() == ErrorKind::broken_pipe;
  }
  dup2(saved, STDOUT_FILENO);
  close(saved);
  close(ends[1]);
  signal(SIGPIPE, previous);
  CHECK(recognised);
}

TEST_CASE("a bar is drawn on demand, and taken away around messages") {
  const Captured err(STDERR_FILENO);
  Console console(settings(ProgressMode::always));
  {
    Progress progress = console.progress("reading", 4096, "B");
    wait_for_redraw();
    progress.set_postfix("loss 2.5");
    progress.set(1024);
    console.warn("odd");
    progress.set(4096);
  }
  console.info("done");
  const std::string text = err.text();
  INFO(text);
  CHECK(text.find("\rreading  25% [=====               ] 1.0 KiB of 4.0 KiB, loss 2.5, ") == 0);
  CHECK(text.find(" \rdt-test: warning: odd\nreading  25% [") != std::string::npos);
  CHECK(text.find('\033') == std::string::npos);  // the output may be a log file
  CHECK(text.find("reading 100% [====================] 4.0 KiB of 4.0 KiB, loss 2.5") != std::string::npos);
  CHECK(text.ends_with("\ndt-test: done\n"));
}

TEST_CASE("a warning of the same words is given once") {
  const Captured err(STDERR_FILENO);
  Console console(settings());
  for (const int step : {1, 1, 2, 1}) console.warn("step {} is odd", step);
  console.info("again");
  console.info("again");
  CHECK(err.text() ==
        "dt-test: warning: step 1 is odd\ndt-test: warning: step 2 is odd\ndt-test: again\ndt-test: again\n");
}

TEST_CASE("a bar fits in its line, notes included") {
  const Captured err(STDERR_FILENO);
  Console console(settings(ProgressMode::always));
  {
    Progress progress = console.progress("naïve", 10, "files");
    progress.set_postfix(std::string(500, 'x'));
    wait_for_redraw();
    progress.advance(5);
  }
  const std::string text = err.text();
  CHECK(text.size() < 2 * 100);
}

TEST_CASE("short work and log files show no bar") {
  const Captured err(STDERR_FILENO);
  Console console(settings());
  {
    Progress progress = console.progress("reading", 100, "files");
    wait_for_redraw();
    for (int i = 0; i < 100; ++i) progress.advance(1);
  }
  Console always(settings(ProgressMode::always));
  { always.progress("short", 1, "files").advance(1); }
  CHECK(err.text().empty());
}

TEST_CASE("no progress is shown where it is not wanted") {
  const Captured err(STDERR_FILENO);
  ConsoleSettings quiet = settings(ProgressMode::always);
  quiet.quiet = true;
  Console silent(quiet);
  Console never(settings(ProgressMode::never));
  Progress a = silent.progress("a", 2, "B");
  Progress b = never.progress("b", 2, "B");
  wait_for_redraw();
  a.advance(1);
  b.advance(1);
  CHECK(err.text().empty());
}

TEST_CASE("a total that is not known and one that is exceeded do no harm") {
  const Captured err(STDERR_FILENO);
  Console console(settings(ProgressMode::always));
  Progress unknown = console.progress("stdin", 0, "documents");
  wait_for_redraw();
  unknown.advance(1234567);
  CHECK(err.text().find("stdin 1,234,567 documents, ") != std::string::npos);
  unknown = console.progress("more", 10, "");
  wait_for_redraw();
  unknown.set(20);
  CHECK(err.text().find("more 100% [") != std::string::npos);
}
