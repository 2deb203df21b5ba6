#pragma once
// A compiled regular expression and its matches in a text. Oniguruma stays behind it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// An expression of Oniguruma's own syntax over UTF-8, without options, as Hugging Face's tokenizers read it.
/// Every class of characters is Unicode 16's, whatever Unicode the library knows.
/// Thread safety: may be searched with from several threads at once.
class Regex {
 public:
  /// Errors: input, where Oniguruma cannot compile it, with the reason.
  explicit Regex(const std::string& pattern);

  struct Match {
    std::size_t begin, end;
  };
  /// CPU time that a search may take: expressions can take time in squares of a text's length, and worse.
  /// Real tokenizers' take some 0.05 µs a byte, those that match each character 0.1: slow machines, emulators
  /// and debuggers have room.
  struct TimeLimit {
    double s = 2;
    double s_per_byte = 5e-6;
  };
  /// The matches in a text, one after another. An empty one directly behind the last one is none.
  class Search {
   public:
    explicit Search(const Regex& regex) : Search(regex, TimeLimit{}) {}
    Search(const Regex& regex, TimeLimit limit);
    ~Search();
    Search(const Search&) = delete;
    /// Goes on with another text. Bytes in it that are not UTF-8 are taken for control characters.
    void start(std::string_view text);
    /// Errors: input, where the expression needs more than Oniguruma's limits allow, or more than its time.
    /// Where a single attempt at a match takes as much again, which nothing can interrupt, the process
    /// ends with the same message and exit code (regex_watch.hpp). How fast or busy the machine is decides
    /// nothing: only CPU time counts.
    std::optional<Match> next();

   private:
    int search();
    int search_untimed();
    void look_at_clock();
    [[noreturn]] void refuse() const;
    double limit_s() const { return limit_.s + limit_.s_per_byte * static_cast<double>(bytes_); }
    const Regex& regex_;
    std::string_view text_;
    std::string mended_;  // the text, where it is not UTF-8
    std::size_t at_ = 0;
    std::optional<std::size_t> last_end_;
    TimeLimit limit_;
    std::uint64_t bytes_ = 0;  // of all texts
    static constexpr int calls_between_looks = 16;
    int calls_until_look_ = calls_between_looks;
    std::optional<double> began_s_;  // at the first look
    bool times_calls_ = false;
    double spent_s_ = 0;  // of this thread's CPU time, in calls of Oniguruma that were timed
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
