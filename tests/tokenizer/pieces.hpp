#pragma once
// Collects the pieces into which a pre-tokenizer splits a text.

#include <string>
#include <vector>

#include "tokenizer/encode/pre_tokenizer.hpp"

namespace dt_test {

class Pieces final : public dt::tokenizer::PieceSink {
 public:
  std::vector<std::string> list;

 protected:
  void take(std::span<const std::string_view> pieces) override {
    list.insert(list.end(), pieces.begin(), pieces.end());
  }
};

inline std::vector<std::string> pieces_of(const dt::tokenizer::PreTokenizer& splitter,
                                          std::string_view text) {
  Pieces pieces;
  splitter.split(text, pieces);
  pieces.flush();
  return pieces.list;
}

}  // namespace dt_test
