// A regular expression of a tokenizer.json and, after its first line, the text that it is searched for in.

#include "fuzz/fuzz.hpp"
#include "tokenizer/encode/regex.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return dt_fuzz::accepted([&] {
    std::string_view text = dt_fuzz::text_of(bytes, size);
    const std::string pattern(dt_fuzz::take_until(text, '\n'));
    // One attempt at a match may take time quadratic in the text, and nothing interrupts it.
    text = text.substr(0, 16384);
    const dt::tokenizer::Regex regex(pattern);
    dt::tokenizer::Regex::Search search(regex);
    search.start(text);
    std::size_t end = 0;
    while (const auto match = search.next()) {
      dt_fuzz::require(end <= match->begin && match->begin <= match->end && match->end <= text.size(),
                       "matches in order, within the text");
      end = match->end;
    }
  });
}
