#pragma once
// Tokenized documents on disk on their way from the input's order to the order of the shards, in bounded
// memory.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.hpp"
#include "base/files.hpp"
#include "data/duplicates.hpp"
#include "data/token_run.hpp"

namespace dt::data {

struct SpooledDocument {
  std::uint64_t number = 0;  // in the order of writing
  std::uint64_t tokens = 0;
  std::uint64_t digest = 0;  // of its tokens
};

struct SpoolOptions {
  bool deduplicates = false;  // of documents with the same tokens the first one stays
  /// Documents are ordered by random bits of (seed, index of the document); without a seed they keep their
  /// order.
  std::optional<std::uint64_t> shuffle_seed;
  DType dtype = DType::u16;                                  // u16 or u32
  std::uint64_t max_bucket_tokens = std::uint64_t{1} << 29;  // without a seed
  std::uint64_t max_sorted_documents = std::uint64_t{1} << 22;
  std::size_t buffer_bytes = std::size_t{256} << 10;  // per bucket
};

/// Documents go to buckets by the leading bits of their sort key (without shuffling: in turn), so that only
/// one bucket's index is sorted at a time; an index that is still too long is sorted in several passes.
/// Buckets are files that are open only while they are written to, so the limit of open files does not
/// matter.
class DocumentSpool {
 public:
  /// Writes into `folder`, an empty folder that the caller removes. Errors of all calls: environment.
  DocumentSpool(fs::path folder, SpoolOptions options);

  /// Adds to the document that is being written.
  void append(std::span<const std::uint32_t> ids);
  /// Ends the document; does nothing where it is empty.
  void end_document();
  /// The same, but it will not be among those that are read.
  void drop_document();
  /// Ends the writing.
  void finish();

  // After finish():
  std::uint64_t num_documents() const { return num_documents_; }
  std::uint64_t num_tokens() const { return num_tokens_; }
  /// That are not among them.
  std::uint64_t num_duplicates() const { return num_duplicates_; }

  /// Calls `document` with each document, in the final order.
  void visit(const std::function<void(const SpooledDocument&)>& document) const;
  /// The same, and `tokens` with where the document's tokens lie. Each bucket is removed when it was visited:
  /// what lies there stays readable for who holds the file.
  void drain(const std::function<void(const SpooledDocument&)>& document,
             const std::function<void(const TokenRun&)>& tokens);

 private:
  struct Entry {
    std::uint64_t key;
    std::uint64_t offset;  // in tokens, in the bucket
    SpooledDocument document;
  };
  struct Bucket {
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    std::vector<std::byte> token_buffer;
    std::vector<Entry> index_buffer;
  };

  fs::path tokens_path(std::size_t bucket) const;
  fs::path index_path(std::size_t bucket) const;
  void begin_document();
  void forget_document();
  void flush();
  void visit_bucket(std::size_t bucket, const std::function<void(const Entry&)>& document) const;
  std::vector<Entry> entries_between(std::size_t bucket, std::uint64_t first_key,
                                     std::uint64_t last_key) const;

  fs::path folder_;
  SpoolOptions options_;
  std::size_t token_bytes_;
  std::vector<Bucket> buckets_;
  std::size_t bucket_ = 0;  // of the document that is being written
  std::uint64_t key_ = 0;
  std::uint64_t document_tokens_ = 0;
  Digester128 digester_;
  std::uint64_t num_documents_ = 0;
  std::uint64_t num_tokens_ = 0;
  std::optional<DuplicateFinder> duplicates_;
  std::vector<bool> is_duplicate_;  // by number; empty where none is known
  std::uint64_t num_duplicates_ = 0;
};

}  // namespace dt::data
