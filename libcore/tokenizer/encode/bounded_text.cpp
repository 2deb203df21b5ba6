#include "tokenizer/encode/bounded_text.hpp"

#include "base/error.hpp"

namespace dt::tokenizer {

void BoundedText::fail() const {
  throw Error(ErrorKind::input, "the tokenizer's steps make more than 64 times as much text of some",
              "no tokenizer needs that: look for a Replace or Prepend in its file whose content is long");
}

}  // namespace dt::tokenizer
