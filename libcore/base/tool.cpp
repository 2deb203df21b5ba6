#include "base/tool.hpp"

#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/host.hpp"

namespace dt {

namespace {

/// Ends the process as a filter ends whose reader went away, so that a shell sees what it expects.
int end_by_broken_pipe() {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  return 128 + SIGPIPE;  // the signal is blocked
}

/// Ranks are given the same command line, and rank 0 speaks about it.
bool is_other_rank(const OptionTable& options) {
  return options.runs_as_ranks() && launched_rank() != 0;
}

ConsoleSettings plain_settings(const OptionTable& options) {
  ConsoleSettings settings;
  settings.tool = options.tool();
  return settings;
}

int answer(const OptionTable& options, OptionTable::Outcome outcome) {
  if (is_other_rank(options)) return 0;
  const bool is_help = outcome == OptionTable::Outcome::help;
  Console(plain_settings(options)).out(is_help ? options.help() : options.version());
  return 0;
}

int parse_and_run(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  OptionTable::Outcome outcome = OptionTable::Outcome::run;
  try {
    outcome = options.parse(argc, argv);
  } catch (const Error& error) {
    if (is_other_rank(options)) return error.exit_code();
    throw;
  }
  if (outcome != OptionTable::Outcome::run) return answer(options, outcome);
  Console console(options.console_settings());
  return run(console);
}

/// A standard stream that the caller has closed would become the next file that is opened: what is read or
/// printed would be that. Here each becomes something that refuses both.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != stream) std::abort();  // the lowest that is free
  }
}

}  // namespace

int run_tool(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  occupy_standard_streams();
  // Both would kill the process in the middle of a file; ignored, they are errors of write(2).
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  Console console(plain_settings(options));
  try {
    return parse_and_run(argc, argv, options, run);
  } catch (...) {
    const Error error = current_error();
    if (error.kind() == ErrorKind::broken_pipe) return end_by_broken_pipe();
    console.error("{}", error.message());
    return error.exit_code();
  }
}

}  // namespace dt
