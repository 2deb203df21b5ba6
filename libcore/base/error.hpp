#pragma once
// Errors that carry what a tool must know to end well: the kind (hence the exit code), what happened, and the
// remedy.

#include <cerrno>
#include <fmt/core.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace dt {

/// The value is the process's exit code. broken_pipe: stdout's reader went away; a filter ends quietly on it
/// (run_tool does), a training run saves first.
enum class ErrorKind : int {
  internal = 1,
  usage = 2,
  input = 3,
  environment = 4,
  verification = 5,
  broken_pipe = 128 + SIGPIPE
};

/// Exit code of a run that saved its state and asks to be started again.
inline constexpr int exit_requeue = 75;

class Error : public std::runtime_error {
 public:
  /// `what` names the thing that is wrong (file, line, option, value); `context` says what was expected or
  /// what to do. `error_number` is the errno of the system call that failed, 0 where none did.
  Error(ErrorKind kind, std::string what, std::string context = {}, int error_number = 0);

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& context() const { return context_; }
  int error_number() const { return error_number_; }
  /// Whether a file that could not be read may be damaged: it is bad input, or its device fails to read it.
  /// What is not permitted, or exceeds a limit, is no damage.
  bool is_of_damage() const { return kind_ == ErrorKind::input || error_number_ == EIO; }
  /// One line for people: "what; context".
  std::string message() const;

 private:
  ErrorKind kind_;
  std::string context_;
  int error_number_;
};

template <class... Args>
Error usage_error(fmt::format_string<Args...> what, Args&&... args) {
  return Error(ErrorKind::usage, fmt::format(what, std::forward<Args>(args)...));
}
template <class... Args>
Error input_error(fmt::format_string<Args...> what, Args&&... args) {
  return Error(ErrorKind::input, fmt::format(what, std::forward<Args>(args)...));
}
template <class... Args>
Error environment_error(fmt::format_string<Args...> what, Args&&... args) {
  return Error(ErrorKind::environment, fmt::format(what, std::forward<Args>(args)...));
}
template <class... Args>
Error verification_error(fmt::format_string<Args...> what, Args&&... args) {
  return Error(ErrorKind::verification, fmt::format(what, std::forward<Args>(args)...));
}

/// The environment error of a failed system call: "cannot <action> <object>: <strerror>" with a remedy where
/// one is known (a full disk, a quota, a missing folder, permissions, limits). A path that names no readable
/// file (ENOENT, EISDIR, ENOTDIR on reading) is ErrorKind::input; a missing permission is not.
Error system_error(int error_number, const std::string& action, const std::string& object);

/// What the exception being handled means: a dt::Error as it is, a failed system call or lack of memory as
/// environment, any other as internal. Call within a catch block.
Error current_error();

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace dt

/// Guards an invariant of dt itself; stays on in release. The message is a fmt format string and its
/// arguments.
#define DT_CHECK(condition, ...) \
  ((condition) ? void(0) : ::dt::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
