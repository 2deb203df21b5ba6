#include "base/tool.hpp"

#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <signal.h>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

namespace {

constexpr int exit_internal = static_cast<int>(ErrorKind::internal);
constexpr int exit_environment = static_cast<int>(ErrorKind::environment);

/// Ends the process as a filter ends whose reader went away, so that a shell sees what it expects.
int end_by_broken_pipe() {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  return 128 + SIGPIPE;  // the signal is blocked
}

ConsoleSettings plain_settings(const OptionTable& options) {
  ConsoleSettings settings;
  settings.tool = options.tool();
  return settings;
}

/// A wrong command line is wrong on all ranks alike, almost always: rank 0 says so, and the launcher ends the
/// others meanwhile.
void let_first_rank_speak() {
  constexpr std::chrono::seconds head_start(3);
  if (launched_rank() != 0) std::this_thread::sleep_for(head_start);
}

OptionTable::Outcome parse(int argc, char** argv, OptionTable& options) {
  try {
    return options.parse(argc, argv);
  } catch (const Error&) {
    let_first_rank_speak();
    throw;
  }
}

int parse_and_run(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  const OptionTable::Outcome outcome = parse(argc, argv, options);
  if (outcome == OptionTable::Outcome::run) {
    Console console(options.console_settings());
    return run(console);
  }
  const bool is_help = outcome == OptionTable::Outcome::help;
  const Console whole(plain_settings(options));
  Console(whole, launched_rank(), "").out(is_help ? options.help() : options.version());
  return 0;
}

}  // namespace

int run_tool(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  // Both would kill the process in the middle of a file; ignored, they are errors of write(2).
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  Console console(plain_settings(options));
  try {
    return parse_and_run(argc, argv, options, run);
  } catch (const BrokenPipe&) {
    return end_by_broken_pipe();
  } catch (const Error& error) {
    console.error("{}", error.message());
    return error.exit_code();
  } catch (const std::filesystem::filesystem_error& error) {
    console.error("{}", error.what());
    return exit_environment;
  } catch (const std::bad_alloc&) {
    console.error("out of memory; ask for less at a time, or for more memory");
    return exit_environment;
  } catch (const std::exception& error) {
    console.error("internal error: {}; this is a defect of dt: please report it", error.what());
    return exit_internal;
  }
}

}  // namespace dt
