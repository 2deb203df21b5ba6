#pragma once
// Megatron's index of a file of token ids: X.idx beside X.bin.
// Source: megatron/core/datasets/indexed_dataset.py.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/io/files.hpp"
#include "data/input/token_file.hpp"

namespace dt::data {

/// Returns the documents' lengths one by one, in memory that does not grow with their number.
/// Errors: input, naming the file, if it is no index of version 1, is truncated, or has its
/// sequences in another order than the ids.
class MegatronIndex {
 public:
  explicit MegatronIndex(const fs::path& path);
  TokenType type() const { return type_; }
  /// Returns the number of tokens of the next document, or nullopt after the last.
  std::optional<std::uint64_t> next_document();

 private:
  /// A consecutive sequence of numbers in the file, `bytes` each.
  class Numbers {
   public:
    Numbers(const File& file, std::uint64_t offset, std::uint64_t count, std::size_t bytes);
    bool at_end() const { return left_ == 0; }
    std::int64_t next();
    std::uint64_t end() const { return end_; }

   private:
    void refill();
    const File& file_;
    std::uint64_t offset_;
    std::uint64_t left_;  // numbers not yet taken
    std::size_t bytes_;
    std::uint64_t end_;
    std::vector<char> buffer_;
    std::size_t taken_ = 0;
  };

  std::uint64_t next_sequence();

  File file_;
  TokenType type_ = TokenType::u16;
  std::uint64_t num_sequences_ = 0;
  std::optional<Numbers> lengths_;   // lengths of sequences, in tokens
  std::optional<Numbers> pointers_;  // offsets of sequences, in bytes
  std::optional<Numbers> ends_;      // ends of documents, in sequences
  std::uint64_t sequence_ = 0;
  std::uint64_t pointer_ = 0;
};

}  // namespace dt::data
