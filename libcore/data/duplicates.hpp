#pragma once
// Which documents say what an earlier one says, of any number of them in bounded memory.

#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "base/files.hpp"

namespace dt::data {

/// Digests go to files by their leading bits; equal ones meet in one of them. Memory: about 6 MiB, then a bit
/// a document and at most a few hundredths of all digests, 24 bytes each.
class DuplicateFinder {
 public:
  /// Writes into `folder`, which the caller removes. Errors of all calls: environment.
  explicit DuplicateFinder(fs::path folder);
  /// Of the document of that number; they come in any order.
  void add(const Digester128::Value& digest, std::uint64_t number);
  /// Of each of `num_documents`, whether one of a lower number has its digest. Once, at the end.
  std::vector<bool> find(std::uint64_t num_documents);

 private:
  struct Entry {
    Digester128::Value digest;
    std::uint64_t number;
  };
  fs::path path(std::size_t part) const;
  std::vector<Entry> entries_of(std::size_t part) const;

  fs::path folder_;
  std::vector<std::vector<Entry>> buffers_;  // of each file
};

}  // namespace dt::data
