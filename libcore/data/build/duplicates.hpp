#pragma once
// Finds documents that repeat an earlier one, among any number of them in bounded memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/io/paths.hpp"
#include "base/numeric/digest.hpp"

namespace dt::data {

/// Finds repeated digests. Distributes digests to files by their leading bits, so that equal digests are in
/// the same file. Memory: about 6 MiB, then one bit per document and at most a few hundredths of all digests,
/// 24 bytes each.
class DuplicateFinder {
 public:
  /// Writes into `folder`, which the caller removes.
  /// Errors: environment, from all calls.
  explicit DuplicateFinder(fs::path folder);
  /// Adds the digest of document `number`. Documents may come in any order.
  void add(const Digester128::Value& digest, std::uint64_t number);
  /// Returns, for each of `num_documents`, whether a document with a lower number has the same
  /// digest. Call it once, at the end.
  std::vector<bool> find(std::uint64_t num_documents);

 private:
  struct Entry {
    Digester128::Value digest;
    std::uint64_t number;
  };
  fs::path path(std::size_t bucket) const;
  static void mark_and_leave_out(std::vector<Entry>& entries, std::vector<bool>& is_duplicate);
  void find_in(std::size_t bucket, std::vector<bool>& is_duplicate);

  fs::path folder_;
  std::vector<std::vector<Entry>> buffers_;  // one per file
};

}  // namespace dt::data
