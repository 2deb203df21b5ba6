#pragma once
// A compiled regular expression and its matches in a text. Callers do not see Oniguruma.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// An expression in Oniguruma's own syntax over UTF-8, without options, as Hugging Face's tokenizers
/// read it. Every character class is Unicode 16's, whatever Unicode the library knows.
/// Thread safety: several threads may search with one expression at once.
class Regex {
 public:
  /// Errors: input, with the reason, if Oniguruma cannot compile the pattern.
  explicit Regex(const std::string& pattern);

  struct Match {
    std::size_t begin, end;
  };
  /// The CPU time that a search may take. Expressions can take time that grows with the square of a
  /// text's length, or worse. Those of real tokenizers take about 0.05 µs a byte, or 0.1 µs if they
  /// match each character. The limit leaves room for slow machines, emulators and debuggers.
  struct SearchTimeLimit {
    double s = 2;
    double s_per_byte = 5e-6;
  };
  /// Finds the matches in a text, one after another. An empty match directly behind the last match does
  /// not count.
  class Search {
   public:
    explicit Search(const Regex& regex) : Search(regex, SearchTimeLimit{}) {}
    Search(const Regex& regex, SearchTimeLimit limit);
    ~Search();
    Search(const Search&) = delete;
    /// Continues with another text. Bytes that are not UTF-8 count as control characters.
    void start(std::string_view text);
    /// Returns the next match; nothing after the last.
    /// Errors: input if the expression needs more than Oniguruma's limits allow, or more than its
    /// time. Nothing can interrupt a single attempt at a match. If one takes as much time again, the
    /// process ends with the same message and exit code (regex_watch.hpp). Only CPU time counts, so it
    /// does not matter how busy the machine is.
    std::optional<Match> next();

   private:
    int search();
    int search_untimed();
    void check_time();
    [[noreturn]] void fail_time_limit() const;
    double limit_s() const { return limit_.s + limit_.s_per_byte * static_cast<double>(bytes_); }
    const Regex& regex_;
    std::string_view text_;
    std::string mended_;  // copy of a text that is not UTF-8, mended
    std::size_t at_ = 0;
    std::optional<std::size_t> last_end_;
    SearchTimeLimit limit_;
    std::uint64_t bytes_ = 0;  // in all texts
    static constexpr int calls_between_looks = 16;
    int calls_until_look_ = calls_between_looks;
    std::optional<double> began_s_;  // at the first look
    bool times_calls_ = false;
    double spent_s_ = 0;  // this thread's CPU time in timed calls of Oniguruma
    void *found_, *limits_;
  };

 private:
  struct Free {
    void operator()(void* code) const;
  };
  std::string pattern_;
  std::unique_ptr<void, Free> code_;
};

}  // namespace dt::tokenizer
