#pragma once
// A tool's voice: data on stdout, messages and progress on stderr. Nothing else in dt prints.

#include <cstdint>
#include <fmt/core.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dt {

enum class ProgressMode { automatic, always, never };

struct ConsoleSettings {
  std::string tool;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool timed = false;  // messages carry the time of day where stderr is no terminal
  ProgressMode progress = ProgressMode::automatic;
};

/// How far a long piece of work has come: a bar on a terminal, a line at each tenth (and at most one in ten
/// seconds) in a log file, nothing with --quiet or --progress never. Short work shows nothing. Ends with its
/// object's life. For one thread.
class Progress {
 public:
  Progress(Progress&&) noexcept;
  Progress& operator=(Progress&&) noexcept;
  ~Progress();
  void advance(std::uint64_t amount);
  void set(std::uint64_t done);
  /// The amount that was done before this work began: the rate and the time that is left do not count it.
  void start_at(std::uint64_t done);
  /// Text shown behind the bar (a loss, a rate).
  void note(std::string text);

  struct State;
  explicit Progress(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

/// Messages may come from any thread; each is one write, and a live bar is taken away before it and drawn
/// again after. A warning of the same words is given once. A message is one line of bounded length, whatever
/// the names in it are (base/printable.hpp).
class Console {
 public:
  explicit Console(ConsoleSettings settings);
  /// The voice of one of several ranks. Rank 0 speaks as `whole` does; the others are silent but for errors.
  Console(const Console& whole, int rank);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  bool json() const { return settings_.json; }
  const ConsoleSettings& settings() const { return settings_; }

  /// Writes text or JSON to stdout, unbuffered, as printable() gives it. Errors: environment, where it cannot
  /// be written (a full disk); broken_pipe where its reader went away.
  void out(std::string_view text);
  /// Writes bytes that the user asked for (a decoded text, a path for a script): exactly these where stdout
  /// is a file or a pipe, printable() on a terminal. Errors: of out.
  void data(std::string_view bytes);
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    out(fmt::format(format, std::forward<Args>(args)...));
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

  /// `total` 0 means unknown. `unit` "B" prints sizes as KiB, MiB, ... One at a time.
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
