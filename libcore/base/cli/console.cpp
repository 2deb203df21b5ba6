#include "base/cli/console.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <optional>
#include <set>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

#include "base/error.hpp"
#include "base/system/host.hpp"
#include "base/text/printable.hpp"
#include "base/text/text.hpp"
#include "base/text/utf8.hpp"

namespace dt {

namespace {

constexpr double redraw_interval_s = 0.1;
constexpr double first_draw_s = 0.3;  // shorter work needs no bar
constexpr double line_interval_s = 10;

/// Returns 0, or the errno of the write that failed.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

/// Returns "12:34:56Z " for a log file. Returns "" on a terminal and if no time is wanted.
std::string time_of_day(bool is_wanted) {
  constexpr std::size_t date = 11;  // length of "2026-01-31T"
  return is_wanted && isatty(STDERR_FILENO) != 1 ? utc_timestamp().substr(date) + " " : "";
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return 80;
  return size.ws_col;
}

/// Returns at most `width` columns of a line, cut between code points.
std::string clipped(std::string line, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!continues_character(line[i]) && ++columns > width) {
      line.resize(i);
      break;
    }
  }
  return line;
}

}  // namespace

/// The text on stderr's last line. Blanks erase a bar, because terminal escape codes would stay in
/// log files.
struct Console::Screen {
  std::mutex mutex;
  std::string bar;                 // "" when none is drawn
  std::set<std::string> warnings;  // already printed

  std::string erasure() const { return "\r" + std::string(display_width(bar), ' ') + "\r"; }
};

struct Progress::State {
  enum class Style { none, bar, lines };
  State(const Console& console, std::string the_label, std::uint64_t the_total, std::string the_unit)
      : screen(console.screen_),
        timed(console.settings_.has_timestamps),
        tool(console.settings_.tool),
        style(choose_style(console.settings_)),
        label(std::move(the_label)),
        total(the_total),
        unit(std::move(the_unit)) {}

  static Style choose_style(const ConsoleSettings& settings) {
    if (settings.quiet || settings.progress == ProgressMode::never) return Style::none;
    if (settings.progress == ProgressMode::always) return Style::bar;
    return isatty(STDERR_FILENO) == 1 ? Style::bar : Style::lines;
  }

  std::string amount(std::uint64_t value) const {
    return unit == "B" ? format_bytes(value) : format_count(value);
  }
  double fraction() const { return static_cast<double>(std::min(done, total)) / static_cast<double>(total); }
  std::string counts() const;
  std::string bar_line() const;
  void update();
  void draw();
  void print_line();
  void finish();

  std::shared_ptr<Console::Screen> screen;
  bool timed;
  std::string tool;
  Style style;
  std::string label;
  std::uint64_t total;
  std::string unit;
  std::uint64_t done = 0;
  std::uint64_t done_before = 0;
  std::string note;
  double start_s = monotonic_s();
  double shown_s = start_s;
  std::uint64_t shown_tenth = 0;
  std::uint64_t shown_done = 0;
  bool shown = false;
};

/// Returns "1.5 GiB of 3.0 GiB, note, 120.0 MiB/s, 0:00:12 left". The least important parts come
/// last, where lines are cut.
std::string Progress::State::counts() const {
  const double elapsed_s = monotonic_s() - start_s;
  std::string text = amount(done);
  if (total > 0) text += " of " + amount(total);
  if (unit != "B" && !unit.empty()) text += " " + unit;
  if (!note.empty()) text += ", " + note;
  if (elapsed_s > 0 && done > done_before) {
    const double rate = static_cast<double>(done - done_before) / elapsed_s;
    text += rate < 10 && unit != "B" ? fmt::format(", {:.1f}/s", rate)
                                     : fmt::format(", {}/s", amount(static_cast<std::uint64_t>(rate)));
    if (total > done)
      text += fmt::format(", {} left", format_duration(static_cast<double>(total - done) / rate));
  }
  return text;
}

std::string Progress::State::bar_line() const {
  constexpr std::size_t width = 20;
  std::string line = label;
  if (total > 0) {
    const auto filled = static_cast<std::size_t>(fraction() * static_cast<double>(width));
    line += fmt::format(" {:3.0f}% [{}{}]", std::floor(fraction() * 100), std::string(filled, '='),
                        std::string(width - filled, ' '));
  }
  return clipped(printable_line(line + " " + counts()), terminal_width() - 1);
}

void Progress::State::draw() {
  const std::lock_guard lock(screen->mutex);
  const std::size_t before = display_width(screen->bar);
  screen->bar = bar_line();
  const std::size_t now = display_width(screen->bar);
  write_all(STDERR_FILENO,
            fmt::format("\r{}{}", screen->bar, std::string(before - std::min(before, now), ' ')));
  shown = true;
}

void Progress::State::print_line() {
  const std::string percent = total > 0 ? fmt::format(" {:.0f}%", std::floor(fraction() * 100)) : "";
  const std::lock_guard lock(screen->mutex);
  write_all(STDERR_FILENO, fmt::format("{}: {}{}\n", tool, time_of_day(timed),
                                       printable_line(fmt::format("{}{}: {}", label, percent, counts()))));
  shown = true;
  shown_done = done;
}

void Progress::State::update() {
  if (style == Style::none) return;
  const double now_s = monotonic_s();
  if (style == Style::bar) {
    if (now_s - shown_s < (shown ? redraw_interval_s : first_draw_s)) return;
    draw();
  } else {
    const std::uint64_t tenth = total > 0 ? static_cast<std::uint64_t>(fraction() * 10) : shown_tenth + 1;
    if (tenth <= shown_tenth || now_s - shown_s < line_interval_s) return;
    print_line();
    shown_tenth = tenth;
  }
  shown_s = now_s;
}

void Progress::State::finish() {
  if (style == Style::lines && shown && done != shown_done) print_line();
  if (style != Style::bar || !shown) return;
  draw();
  const std::lock_guard lock(screen->mutex);
  screen->bar.clear();
  write_all(STDERR_FILENO, "\n");
}

Progress::Progress(std::unique_ptr<State> state) : state_(std::move(state)) {}
Progress::Progress(Progress&&) noexcept = default;

Progress& Progress::operator=(Progress&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Progress::~Progress() {
  if (!state_) return;
  try {
    state_->finish();
  } catch (...) {  // out of memory while drawing; nothing is lost
  }
}

void Progress::advance(std::uint64_t amount) {
  set(state_->done + amount);
}

void Progress::set(std::uint64_t done) {
  state_->done = done;
  state_->update();
}

void Progress::set_initial(std::uint64_t done) {
  state_->done = state_->done_before = done;
}

void Progress::set_postfix(std::string text) {
  state_->note = std::move(text);
}

Console::Console(ConsoleSettings settings)
    : settings_(std::move(settings)), screen_(std::make_shared<Screen>()) {}

Console::Console(const Console& whole, int rank)
    : settings_(whole.settings_), is_silent_(rank != 0), screen_(whole.screen_) {
  if (is_silent_) settings_.progress = ProgressMode::never;
}

Console::~Console() = default;

void Console::write_text(std::string_view text) {
  if (!is_silent_) write_out(printable(text));
}

void Console::write_bytes(std::string_view bytes) {
  if (is_silent_) return;
  if (isatty(STDOUT_FILENO) == 1) return write_out(printable(bytes));
  write_out(bytes);
}

void Console::write_out(std::string_view text) {
  // On a terminal stdout shares its line with the bar on stderr.
  const std::lock_guard lock(screen_->mutex);
  const bool over_bar = !screen_->bar.empty() && isatty(STDOUT_FILENO) == 1;
  if (over_bar) write_all(STDERR_FILENO, screen_->erasure());
  const int error_number = write_all(STDOUT_FILENO, text);
  if (over_bar) write_all(STDERR_FILENO, screen_->bar);
  if (error_number == EPIPE) {
    throw Error(ErrorKind::broken_pipe, "cannot write to standard output: Broken pipe",
                "the reader closed the pipe");
  }
  if (error_number != 0) throw system_error(error_number, "write to", "standard output");
}

void Console::message(std::string_view prefix, std::string_view text) {
  const std::lock_guard lock(screen_->mutex);
  const bool is_warning = prefix == warning_prefix;
  const std::string shown = printable_line(text);
  if (is_warning && !screen_->warnings.insert(shown).second) return;
  const std::string line =
      fmt::format("{}: {}{}{}\n", settings_.tool, time_of_day(settings_.has_timestamps), prefix, shown);
  if (screen_->bar.empty()) {
    write_all(STDERR_FILENO, line);
  } else {
    write_all(STDERR_FILENO, fmt::format("{}{}{}", screen_->erasure(), line, screen_->bar));
  }
}

Progress Console::progress(std::string label, std::uint64_t total, std::string unit) {
  return Progress(std::make_unique<Progress::State>(*this, std::move(label), total, std::move(unit)));
}

}  // namespace dt
