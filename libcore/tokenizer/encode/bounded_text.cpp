#include "tokenizer/encode/bounded_text.hpp"

#include "base/error.hpp"

namespace dt::tokenizer {

void BoundedText::fail() const {
  throw Error(ErrorKind::input, "the tokenizer's steps expand some text more than 64-fold",
              "look in the tokenizer's file for a Replace or Prepend step with long content");
}

}  // namespace dt::tokenizer
