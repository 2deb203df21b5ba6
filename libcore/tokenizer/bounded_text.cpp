#include "tokenizer/bounded_text.hpp"

#include "base/error.hpp"

namespace dt::tokenizer {

void check_num_steps(const char* what, std::size_t count) {
  constexpr std::size_t max_steps = 128;  // DeepSeek's seven are many
  if (count > max_steps)
    throw input_error("a Sequence has {} {}; at most {} are read", count, what, max_steps);
}

void BoundedText::fail() const {
  throw Error(ErrorKind::input, "the tokenizer's steps make more than 64 times as much text of some",
              "no tokenizer needs that: look for a Replace or Prepend in its file whose content is long");
}

}  // namespace dt::tokenizer
