#pragma once
// Reads the ids of a stream block by block.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/input/document_range.hpp"
#include "data/input/megatron_index.hpp"
#include "data/input/token_head.hpp"

namespace dt::data {

struct TokenBlock {
  std::string bytes;                 // whole ids
  std::vector<DocumentRange> parts;  // ranges of the bytes; none if documents end at EOS
  std::uint64_t first_token = 0;
  bool is_last = false;
};

class TokenReader {
 public:
  /// `bytes` are positioned after the header. `index` says where documents end; without one, EOS
  /// ids do. Both must outlive the reader.
  TokenReader(ByteSource& bytes, std::string name, TokenHead head, MegatronIndex* index = nullptr);
  /// Returns the next block. Call it until a block is the last.
  /// Errors: input if there are more or fewer ids than header or index say.
  TokenBlock next();

 private:
  void check_count(bool is_last) const;
  std::vector<DocumentRange> parts_of(std::size_t num_bytes, bool is_last);
  bool next_document();

  ByteSource& bytes_;
  std::string name_;
  TokenHead head_;
  MegatronIndex* index_;
  std::uint64_t num_read_ = 0;
  std::uint64_t document_left_ = 0;  // tokens left of the present document
};

}  // namespace dt::data
