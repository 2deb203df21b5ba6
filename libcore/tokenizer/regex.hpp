#pragma once
// A compiled regular expression and its matches in a text. PCRE2 stays behind it.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// By Unicode 16, $ is the text's end. Safe to use from several threads at once.
class Regex {
 public:
  /// Errors: input, where PCRE2 cannot compile it, with the place.
  explicit Regex(const std::string& pattern);

  struct Match {
    std::size_t begin, end;
  };
  /// The matches in a text, one after another; none is empty.
  class Search {
   public:
    Search(const Regex& regex, std::string_view text);
    ~Search();
    Search(const Search&) = delete;
    /// Errors: input, where the expression needs more than PCRE2's limits allow.
    std::optional<Match> next();

   private:
    int match();
    const Regex& regex_;
    void* code_;
    std::string_view text_;
    std::size_t at_ = 0;
    void* found_;
  };

 private:
  struct Free {
    void operator()(void* code) const;
  };
  using Code = std::unique_ptr<void, Free>;
  std::string pattern_;
  Code code_;
  Code code_for_new_;  // of characters that PCRE2 may not know; slower
};

}  // namespace dt::tokenizer
