#pragma once
// A compiled regular expression and its matches in a text. PCRE2 stays behind it.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace dt::tokenizer {

/// Safe to use from several threads at once.
class Regex {
 public:
  /// Errors: input, where PCRE2 cannot compile it, with the place.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(const Regex&) = delete;

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
    std::string_view text_;
    std::size_t at_ = 0;
    void* found_;
  };

 private:
  std::string pattern_;
  void* code_;
};

}  // namespace dt::tokenizer
