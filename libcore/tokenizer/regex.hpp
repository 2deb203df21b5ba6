#pragma once
// A compiled regular expression and its matches in a text. Oniguruma stays behind it.

#include <cstddef>
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
  /// The matches in a text, one after another. An empty one directly behind the last one is none.
  class Search {
   public:
    explicit Search(const Regex& regex);
    ~Search();
    Search(const Search&) = delete;
    /// Goes on with another text. Bytes in it that are not UTF-8 are taken for control characters.
    void start(std::string_view text);
    /// Errors: input, where the expression needs more than Oniguruma's limits allow.
    std::optional<Match> next();

   private:
    int search();
    const Regex& regex_;
    std::string_view text_;
    std::string mended_;  // the text, where it is not UTF-8
    std::size_t at_ = 0;
    std::optional<std::size_t> last_end_;
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
