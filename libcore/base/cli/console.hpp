#pragma once
// A tool's output: data on stdout, messages and progress on stderr. No other code in dt prints.

#include <cstdint>
#include <fmt/core.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text/enum_names.hpp"

namespace dt {

enum class ProgressMode { automatic, always, never };
constexpr auto enum_names(ProgressMode) {
  return std::to_array<EnumName<ProgressMode>>(
      {{"auto", ProgressMode::automatic}, {"always", ProgressMode::always}, {"never", ProgressMode::never}});
}

struct ConsoleSettings {
  std::string tool;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool has_timestamps = false;  // messages carry the time of day unless stderr is a terminal
  ProgressMode progress = ProgressMode::automatic;
};

/// The progress of a long operation. A terminal shows a bar. A log file gets a line at each tenth,
/// at most one in ten seconds. With --quiet or --progress never, nothing appears. Short operations
/// show nothing either. The display ends with the object.
/// Thread safety: one thread per object.
class Progress {
 public:
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;
  ~Progress();
  void advance(std::uint64_t amount);
  void set(std::uint64_t done);
  /// Sets the amount that was done before this work began. Rate and remaining time do not count it.
  void set_initial(std::uint64_t done);
  /// Sets the text behind the bar (a loss, a rate).
  void set_postfix(std::string text);

  struct State;
  explicit Progress(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

/// The output channel of a tool. Each message is one write. The console erases a live bar before
/// the message and draws it again afterwards. A warning with the same words appears once. A message
/// is one line of bounded length, whatever names it contains (base/text/printable.hpp).
/// Thread safety: any thread may send messages.
class Console {
 public:
  explicit Console(ConsoleSettings settings);
  /// Creates the console of one of several ranks. Rank 0 prints as `whole` does; the others print
  /// errors only.
  Console(const Console& whole, int rank);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool json() const { return settings_.json; }
  const ConsoleSettings& settings() const { return settings_; }

  /// Writes text or JSON to stdout, unbuffered, in the form that printable() returns.
  /// Errors: environment if it cannot be written (a full disk); broken_pipe if the reader closed
  /// the pipe.
  void write_text(std::string_view text);
  /// Writes bytes that the user asked for (a decoded text, a path for a script). A file or a pipe
  /// gets exactly these bytes; a terminal gets printable() of them.
  /// Errors: as out().
  void write_bytes(std::string_view bytes);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    write_text(fmt::format(format, std::forward<Args>(args)...));
  }

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) {
    if (!settings_.quiet && !is_silent_) message("", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) {
    if (settings_.verbose && !is_silent_) message("", fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    if (!is_silent_) message(warning_prefix, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) {
    message("error: ", fmt::format(format, std::forward<Args>(args)...));
  }

  /// Starts a progress display. `total` 0 means unknown. With `unit` "B" sizes print as KiB, MiB,
  /// ... At most one display may be live.
  Progress progress(std::string label, std::uint64_t total, std::string unit);

 private:
  struct Screen;
  friend struct Progress::State;
  static constexpr std::string_view warning_prefix = "warning: ";
  void message(std::string_view prefix, std::string_view text);
  void write_out(std::string_view text);
  ConsoleSettings settings_;
  bool is_silent_ = false;
  std::shared_ptr<Screen> screen_;  // shared with the live Progress
};

}  // namespace dt
