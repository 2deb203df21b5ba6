#include "base/tool.hpp"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
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

/// Columns that help may take: COLUMNS, else the terminal's; what reads a pipe has no width.
std::size_t output_width() {
  constexpr std::size_t fallback = 100;
  if (const auto columns = environment_variable("COLUMNS")) {
    std::size_t width = 0;
    const auto [rest, code] = std::from_chars(columns->data(), columns->data() + columns->size(), width);
    if (code == std::errc() && rest == columns->data() + columns->size() && width > 0) return width;
  }
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : fallback;
}

int answer(const OptionTable& options, OptionTable::Outcome outcome) {
  if (is_other_rank(options)) return 0;
  const bool is_help = outcome == OptionTable::Outcome::help;
  Console(plain_settings(options)).out(is_help ? options.help(output_width()) : options.version());
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
  if (!is_other_rank(options)) {
    for (const std::string& warning : options.warnings()) console.warn("{}", warning);
  }
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
  ConsoleSettings settings = plain_settings(options);
  try {
    return parse_and_run(argc, argv, options, run);
  } catch (...) {
    const Error error = current_error();
    if (error.kind() == ErrorKind::broken_pipe) return end_by_broken_pipe();
    if (error.kind() != ErrorKind::usage) settings.timed = options.console_settings().timed;
    Console(settings).error("{}", error.message());
    return error.exit_code();
  }
}

}  // namespace dt
