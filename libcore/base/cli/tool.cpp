#include "base/cli/tool.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <optional>
#include <signal.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "base/cli/build_info.hpp"
#include "base/cli/tasks.hpp"
#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/system/signals.hpp"

namespace dt {

namespace {

/// Ends the process with SIGPIPE, as a shell expects of a filter whose reader has gone.
int end_by_broken_pipe() {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  return 128 + SIGPIPE;  // reached if the signal is blocked
}

/// A command line's words, usable even if it cannot be parsed.
class Arguments {
 public:
  Arguments(int argc, char** argv) : words_(argv, argv + argc) {}

  bool has(std::string_view word) const { return std::ranges::find(words_, word) != words_.end(); }
  /// Returns the last value of an option, "--name value" or "--name=value", or "" if it has none.
  std::string value_of(const std::string& option) const {
    std::string value;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] == option && i + 1 < words_.size()) value = words_[i + 1];
      if (words_[i].starts_with(option + "=")) value = words_[i].substr(option.size() + 1);
    }
    return value;
  }

 private:
  std::vector<std::string> words_;
};

/// Returns whether another process reports errors of the same command line: rank 0 for other ranks,
/// task 0 for tasks that share its work. A process that works alone reports its own.
bool is_reported_by_other_rank(const OptionTable& options, const Arguments& words) {
  if (options.runs_as_ranks()) {
    const std::string comm = words.value_of("--comm");
    return launcher_rank() != 0 && comm != "self" && !comm.starts_with("threads=");
  }
  const std::vector<OptionValue> values = options.values();
  if (std::ranges::find(values, "share-tasks", &OptionValue::name) == values.end()) return false;
  std::optional<bool> requested;
  if (words.has("--share-tasks")) requested = true;
  if (words.has("--no-share-tasks")) requested = false;
  try {
    return current_task(requested).number > 0;
  } catch (const Error&) {  // errors in Slurm's variables are reported elsewhere
    return false;
  }
}

ConsoleSettings plain_settings(const OptionTable& options) {
  ConsoleSettings settings;
  settings.tool = options.tool();
  return settings;
}

/// Returns the columns that help may take: COLUMNS, else the terminal's width, else a fixed width
/// for pipes.
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

int print_help_or_version(const OptionTable& options, OptionTable::Outcome outcome) {
  Console console(plain_settings(options));
  if (outcome == OptionTable::Outcome::help) {
    console.write_text(options.help(output_width()));
  } else if (outcome == OptionTable::Outcome::help_all) {
    console.write_text(options.help_all(output_width()));
  } else {
    console.write_text(options.version() + (options.console_settings().verbose ? build_report() : ""));
  }
  return 0;
}

int parse_and_run(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  OptionTable::Outcome outcome = OptionTable::Outcome::run;
  const Arguments words(argc, argv);
  try {
    outcome = options.parse(argc, argv);
  } catch (const Error& error) {
    if (is_reported_by_other_rank(options, words)) return error.exit_code();
    throw;
  }
  const bool is_told = is_reported_by_other_rank(options, words);
  if (outcome != OptionTable::Outcome::run) return is_told ? 0 : print_help_or_version(options, outcome);
  Console console(options.console_settings());
  if (!is_told) {
    for (const std::string& warning : options.warnings()) console.warn("{}", warning);
  }
  return run(console);
}

/// Opens /dev/null in place of each standard stream that the caller closed. The next file opened
/// would otherwise become that stream, and be read or printed to. The modes here make both fail.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != stream) std::abort();  // open() returns the lowest free descriptor
  }
}

}  // namespace

int run_tool(int argc, char** argv, OptionTable& options, const std::function<int(Console&)>& run) {
  occupy_standard_streams();
  // Both signals would kill the process in the middle of a file. Ignored, they become errors of
  // write(2).
  signal(SIGXFSZ, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  ConsoleSettings settings = plain_settings(options);
  try {
    return parse_and_run(argc, argv, options, run);
  } catch (const Interrupted& interrupted) {  // before the tool's own work began
    Console(settings).error("stopped by {}", signal_name(interrupted.signal));
    return interrupted.exit_code();
  } catch (...) {
    const Error error = current_error();
    if (error.kind() == ErrorKind::broken_pipe) return end_by_broken_pipe();
    if (error.kind() != ErrorKind::usage) settings.has_timestamps = options.console_settings().has_timestamps;
    Console(settings).error("{}", error.message());
    return error.exit_code();
  }
}

}  // namespace dt
