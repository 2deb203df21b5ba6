#pragma once
// Stops a regular-expression search that takes too long, and ends the process where it cannot be
// stopped.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <time.h>
#include <utility>

namespace dt::tokenizer {

/// Returns the CPU time of the calling thread, in seconds.
double thread_cpu_s();

/// Returns the message of a search that takes too long: "the regular expression … takes more than … s",
/// and why. `bytes` are the text's.
std::string too_slow(const std::string& pattern, double limit_s, std::uint64_t bytes);

/// Names the text that this thread encodes ("FILE:LINE") as long as the object lives. The watching
/// thread calls `name` for its message when it ends the process.
class SearchedText {
 public:
  using Name = std::function<std::string()>;
  explicit SearchedText(Name name) : name_(std::move(name)) { current_ = &name_; }
  ~SearchedText() { current_ = nullptr; }
  SearchedText(const SearchedText&) = delete;

 private:
  friend class WatchedSearch;
  Name name_;
  static constinit thread_local const Name* current_;
};

/// Tells the process's watching thread that this thread is in a call of Oniguruma, as long as the
/// object lives.
/// If the call takes more than `limit_s` of CPU time, must_stop() becomes true. If it takes as much
/// again, the process ends with the exit code of ErrorKind::input and a message on stderr that names
/// the pattern. Nothing else interrupts a single attempt at a match. The library's limits do not bound
/// it, since back-references and possessive repeats compare and scan without a retry.
/// Files that the process is writing are left as after a crash.
class WatchedSearch {
 public:
  /// `pattern` outlives the object. `bytes` are the text's, for the message.
  WatchedSearch(const std::string& pattern, double limit_s, std::uint64_t bytes);
  ~WatchedSearch();
  WatchedSearch(const WatchedSearch&) = delete;

  /// Returns whether the thread's current call has used up its time. Takes a nanosecond.
  static bool must_stop() {
    if (!has_stopped_.load(std::memory_order_relaxed)) [[likely]]
      return false;
    return current_ != nullptr && current_->stopped_call.load(std::memory_order_relaxed) ==
                                      current_->call.load(std::memory_order_relaxed);
  }

 private:
  friend class SearchWatcher;
  /// A thread that searches. Its calls are numbered, with odd numbers while they last, so that watching
  /// costs the thread a few stores a call.
  struct Searcher {
    clockid_t clock{};
    std::atomic<std::uint64_t> call = 0;
    std::atomic<std::uint64_t> stopped_call = ~std::uint64_t{0};
    std::atomic<const std::string*> pattern = nullptr;
    std::atomic<const SearchedText::Name*> text_name = nullptr;
    std::atomic<double> limit_s = 0;
    std::atomic<std::uint64_t> bytes = 0;
    // Only the watcher uses these; they hold what it saw last.
    std::uint64_t seen_call = 0;
    double seen_s = 0, stopped_s = 0;
  };
  static Searcher& own_searcher();
  static void count(Searcher& searcher);
  static constinit inline std::atomic<bool> has_stopped_ = false;  // any call of any thread
  static constinit thread_local Searcher* current_;                // null before the thread's first search
};

}  // namespace dt::tokenizer
