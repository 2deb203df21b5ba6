#include "tokenizer/regex_watch.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fmt/core.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "base/signals.hpp"

namespace dt::tokenizer {

namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  // A thread that has ended takes no more time.
  return ::clock_gettime(clock, &time) == 0
             ? static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)
             : 0;
}

/// A thread that searches. Its calls are numbered, odd ones while they last, so that watching costs the
/// thread two stores a call.
struct Searcher {
  clockid_t clock{};
  std::atomic<std::uint64_t> number = 0;
  std::atomic<const std::string*> pattern = nullptr;
  std::atomic<double> limit_s = 0;
  // Of the watcher alone: what it saw last.
  std::uint64_t seen_number = 0;
  double seen_s = 0;
};

class Watcher {
 public:
  static Watcher& get() {
    static Watcher* const watcher = new Watcher;  // outlives every thread
    return *watcher;
  }
  std::shared_ptr<Searcher> add() {
    auto searcher = std::make_shared<Searcher>();
    ::pthread_getcpuclockid(::pthread_self(), &searcher->clock);
    const std::lock_guard lock(mutex_);
    searchers_.push_back(searcher);
    if (!std::exchange(is_running_, true)) {
      const SignalsBlocked blocked;
      std::thread([this] { watch(); }).detach();
    }
    return searcher;
  }

 private:
  [[noreturn]] void watch() {
    constexpr std::chrono::milliseconds interval{100};
    for (;;) {
      std::this_thread::sleep_for(interval);
      const std::lock_guard lock(mutex_);
      std::erase_if(searchers_, [](const auto& searcher) { return searcher.use_count() == 1; });
      for (const auto& searcher : searchers_) look_at(*searcher);
    }
  }

  static void look_at(Searcher& searcher) {
    const std::uint64_t number = searcher.number.load(std::memory_order_acquire);
    if (number % 2 == 0) return;
    if (number != searcher.seen_number) {
      searcher.seen_number = number;
      searcher.seen_s = seconds_of(searcher.clock);
      return;
    }
    const double limit_s = searcher.limit_s.load(std::memory_order_relaxed);
    if (seconds_of(searcher.clock) - searcher.seen_s <= limit_s) return;
    // The pattern lives as long as the call lasts, which does not end any more.
    const std::string line =
        fmt::format("{}: error: {}\n", program_invocation_short_name,
                    printable_line(too_slow(*searcher.pattern.load(std::memory_order_relaxed), limit_s)));
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
    ::_exit(static_cast<int>(ErrorKind::input));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Searcher>> searchers_;
  bool is_running_ = false;
};

Searcher& own_searcher() {
  thread_local const std::shared_ptr<Searcher> searcher = Watcher::get().add();
  return *searcher;
}

/// Only its own thread writes the number.
void count(Searcher& searcher) {
  searcher.number.store(searcher.number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

double thread_cpu_s() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

std::string too_slow(const std::string& pattern, double limit_s) {
  return fmt::format(
      "the regular expression {} takes more than {:.1f} s of CPU time for a text: its time grows with the "
      "square of the text's length or faster; use a tokenizer whose expression has no nested repeats and no "
      "back-references",
      printable_line(pattern, 400), limit_s);
}

WatchedSearch::WatchedSearch(const std::string& pattern, double limit_s) {
  Searcher& searcher = own_searcher();
  searcher.pattern.store(&pattern, std::memory_order_relaxed);
  searcher.limit_s.store(limit_s, std::memory_order_relaxed);
  count(searcher);
}

WatchedSearch::~WatchedSearch() {
  count(own_searcher());
}

}  // namespace dt::tokenizer
