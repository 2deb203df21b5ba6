#include "tokenizer/encode/regex_watch.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fmt/core.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "base/error.hpp"
#include "base/system/signals.hpp"
#include "base/text/printable.hpp"

namespace dt::tokenizer {

namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  // A thread that has ended takes no more time.
  return ::clock_gettime(clock, &time) == 0
             ? static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)
             : 0;
}

}  // namespace

class SearchWatcher {
 public:
  using Searcher = WatchedSearch::Searcher;
  static SearchWatcher& get() {
    static SearchWatcher* const watcher = new SearchWatcher;  // outlives every thread
    return *watcher;
  }
  std::shared_ptr<Searcher> add() {
    auto searcher = std::make_shared<Searcher>();
    ::pthread_getcpuclockid(::pthread_self(), &searcher->clock);
    const std::lock_guard lock(mutex_);
    searchers_.push_back(searcher);
    if (!is_running_) {
      const ScopedSignalBlock blocked;
      std::thread([this] { watch(); }).detach();
      is_running_ = true;  // last: if starting the thread fails, the next search tries again
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
    const std::uint64_t call = searcher.call.load(std::memory_order_acquire);
    if (call % 2 == 0) return;
    if (call != searcher.seen_call) {
      searcher.seen_call = call;
      searcher.seen_s = seconds_of(searcher.clock);
      return;
    }
    const double limit_s = searcher.limit_s.load(std::memory_order_relaxed);
    const double took_s = seconds_of(searcher.clock) - searcher.seen_s;
    if (took_s <= limit_s) return;
    if (searcher.stopped_call.exchange(call, std::memory_order_relaxed) != call) {
      searcher.stopped_s = took_s;
      WatchedSearch::has_stopped_.store(true, std::memory_order_relaxed);
    } else if (took_s - searcher.stopped_s > limit_s &&
               searcher.call.load(std::memory_order_acquire) == call) {
      end_process(searcher, limit_s);
    }
  }

  /// Ends the process with a message. The pattern and the text's name stay valid, since the call never
  /// returns.
  [[noreturn]] static void end_process(const Searcher& searcher, double limit_s) {
    const auto* const name = searcher.text_name.load(std::memory_order_relaxed);
    const std::string text =
        name_of(name) + too_slow(*searcher.pattern.load(std::memory_order_relaxed), limit_s,
                                 searcher.bytes.load(std::memory_order_relaxed));
    const std::string line =
        fmt::format("{}: error: {}\n", program_invocation_short_name, printable_line(text));
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    std::abort();  // so that libFuzzer keeps the input
#else
    ::_exit(static_cast<int>(ErrorKind::input));
#endif
  }

  static std::string name_of(const SearchedText::Name* name) {
    try {
      return name == nullptr ? "" : (*name)() + ": ";
    } catch (...) {
      return "";  // the message matters more
    }
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Searcher>> searchers_;
  bool is_running_ = false;
};

constinit thread_local const SearchedText::Name* SearchedText::current_ = nullptr;
constinit thread_local WatchedSearch::Searcher* WatchedSearch::current_ = nullptr;

WatchedSearch::Searcher& WatchedSearch::own_searcher() {
  if (current_ == nullptr) {
    thread_local const std::shared_ptr<Searcher> searcher = SearchWatcher::get().add();
    current_ = searcher.get();
  }
  return *current_;
}

/// Numbers the begin or the end of a call. Only the searching thread writes the number.
void WatchedSearch::count(Searcher& searcher) {
  searcher.call.store(searcher.call.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

double thread_cpu_s() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

std::string too_slow(const std::string& pattern, double limit_s, std::uint64_t bytes) {
  return fmt::format(
      "the regular expression {} took more than {:.1f} s of CPU time for {} bytes of text: its time grows "
      "with the square of the text's length or faster; use a tokenizer whose expression has no nested "
      "repeats and no back-references",
      printable_line(pattern, 400), limit_s, bytes);
}

WatchedSearch::WatchedSearch(const std::string& pattern, double limit_s, std::uint64_t bytes) {
  Searcher& searcher = own_searcher();
  searcher.pattern.store(&pattern, std::memory_order_relaxed);
  searcher.limit_s.store(limit_s, std::memory_order_relaxed);
  searcher.bytes.store(bytes, std::memory_order_relaxed);
  searcher.text_name.store(SearchedText::current_, std::memory_order_relaxed);
  count(searcher);
}

WatchedSearch::~WatchedSearch() {
  count(*current_);
}

}  // namespace dt::tokenizer
