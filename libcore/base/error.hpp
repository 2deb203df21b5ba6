#pragma once
// Errors that carry what a tool needs to end well: the kind (hence the exit code), what failed, and
// a remedy.

#include <cerrno>
#include <fmt/core.h>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace dt {

/// The kind of an error; its value is the process's exit code. broken_pipe means that stdout's
/// reader closed the pipe. A filter then ends quietly (run_tool does); a training run saves first.
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
  /// `what` names the item that is wrong (file, line, option, value). `context` says what was
  /// expected or what to do. `error_number` is the errno of the failed system call, or 0.
  Error(ErrorKind kind, std::string what, std::string context = {}, int error_number = 0);

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& context() const { return context_; }
  int error_number() const { return error_number_; }
  /// Returns whether the error may come from a damaged file: the file is bad input, or its device
  /// fails to read it. A missing permission and an exceeded limit are not damage.
  bool indicates_corruption() const { return kind_ == ErrorKind::input || error_number_ == EIO; }
  /// Returns one line for people: "what; context".
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

/// Returns the error of a failed system call: "cannot <action> <object>: <strerror>". The error has
/// a remedy if one is known (a full disk, a quota, a missing folder, permissions, limits). Its kind
/// is environment, except for a path that names no readable file (ENOENT, EISDIR, ENOTDIR on
/// reading), which is input. A missing permission is environment.
Error system_error(int error_number, const std::string& action, const std::string& object);

/// Returns the exception being handled as an Error. A dt::Error stays as it is. A failed system
/// call and lack of memory become environment, all others internal. Call it within a catch block.
Error current_error();

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace dt

/// Guards an invariant of dt itself; stays on in release builds. The message is a fmt format string
/// with its arguments.
#define DT_CHECK(condition, ...) \
  ((condition) ? void(0) : ::dt::check_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
