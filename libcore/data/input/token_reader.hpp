#pragma once
// The ids of a stream, a block at a time.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/input/megatron_index.hpp"
#include "data/input/part.hpp"
#include "data/input/token_head.hpp"

namespace dt::data {

struct TokenBlock {
  std::string bytes;        // whole ids
  std::vector<Part> parts;  // of the bytes; none where documents end at EOS
  std::uint64_t first_token = 0;
  bool is_last = false;
};

class TokenReader {
 public:
  /// `bytes` stand after the head. `index` says where documents end; without one, ids do. Both outlive it.
  TokenReader(ByteSource& bytes, std::string name, TokenHead head, MegatronIndex* index = nullptr);
  /// To be called until a block is the last. Errors: input, more or fewer ids than head or index say.
  TokenBlock next();

 private:
  void check_count(bool is_last) const;
  std::vector<Part> parts_of(std::size_t num_bytes, bool is_last);
  bool next_document();

  ByteSource& bytes_;
  std::string name_;
  TokenHead head_;
  MegatronIndex* index_;
  std::uint64_t num_read_ = 0;
  std::uint64_t document_left_ = 0;  // tokens of the present document
};

}  // namespace dt::data
