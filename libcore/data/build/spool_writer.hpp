#pragma once
// Writes tokenized documents to disk, range after range of the inputs.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "base/system/task_pool.hpp"
#include "data/build/spool_file.hpp"

namespace dt::data {

struct SpoolOptions {
  /// Seed of the documents' order, by random bits of (seed, range, number within it). Without a
  /// seed they keep the order of the inputs.
  std::optional<std::uint64_t> shuffle_seed;
  DType dtype = DType::u16;  // u16 or u32
  std::size_t segment_bytes = std::size_t{32} << 20;
  std::size_t segment_documents = std::size_t{1} << 18;
};

/// Writes each range as a file of the spool, which exists only when complete. Writes in the
/// background if `num_threads` > 1. Memory: up to five segments.
/// Errors: environment, from all calls.
class SpoolWriter {
 public:
  SpoolWriter(fs::path folder, SpoolOptions options, int num_threads);

  /// Declares that the following documents belong to this range.
  void begin_range(std::uint64_t range);
  /// Adds to the document in progress.
  void append(std::span<const std::uint32_t> ids);
  /// Ends the document. Does nothing if it is empty.
  void end_document();
  /// Ends the document and leaves it out of the result.
  void drop_document();
  /// Ends the range, between documents. `found` are the issues in the range.
  void end_range(const InputIssues& found, const FilteredDocuments& left_out, const SeenRoles& roles = {});
  /// Waits until everything is written.
  void finish();

 private:
  struct BufferedSegment {
    std::vector<std::byte> tokens;
    std::vector<SpoolEntry> entries;  // offsets are relative to `tokens`
  };
  using Buffer = std::vector<std::byte>;

  void make_room();
  void stream_document();
  void end_streamed(SpoolEntry entry);
  void write_segment();
  void write_behind(std::function<Buffer()> task);
  Buffer spare_buffer();
  void finish_first();
  void forget_document();

  fs::path folder_;
  SpoolOptions options_;
  std::size_t token_bytes_;
  std::uint64_t range_ = 0;
  std::shared_ptr<SpoolFileWriter> file_;
  std::uint64_t file_bytes_ = 0;  // bytes handed to file_
  RangeSummary summary_;
  BufferedSegment segment_;

  // State of the document in progress:
  std::uint64_t document_tokens_ = 0;
  bool document_has_targets_ = false;
  std::size_t document_begin_ = 0;  // offset in the segment
  std::optional<std::uint64_t>
      streamed_offset_;  // offset in the file, if the document is too long for a segment
  Digester128 digester_;

  std::vector<Buffer> spare_buffers_;
  std::deque<std::future<Buffer>> in_flight_;
  Buffer sorted_;  // scratch of the writing thread
  bool has_thread_;
  TaskPool<Buffer> pool_;  // one thread at most, so that writes stay in order
};

}  // namespace dt::data
