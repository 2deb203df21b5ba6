#pragma once
// Tokenized documents on their way to disk, range after range of the inputs.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.hpp"
#include "data/spool_part.hpp"
#include "data/task_pool.hpp"

namespace dt::data {

struct SpoolOptions {
  /// Documents are ordered by random bits of (seed, range, number within it); without a seed they keep their
  /// order.
  std::optional<std::uint64_t> shuffle_seed;
  DType dtype = DType::u16;  // u16 or u32
  std::size_t segment_bytes = std::size_t{32} << 20;
  std::size_t segment_documents = std::size_t{1} << 18;
};

/// Each range becomes a part of the spool, which is there when it is whole. Writes in the background where
/// `num_threads` > 1. Memory: up to five segments. Errors of all calls: environment.
class SpoolWriter {
 public:
  SpoolWriter(fs::path folder, SpoolOptions options, int num_threads);

  /// What comes is of this range.
  void begin_range(std::uint64_t range);
  /// Adds to the document that is being written.
  void append(std::span<const std::uint32_t> ids);
  /// Ends the document; does nothing where it is empty.
  void end_document();
  /// The same, but it will not be among those that are read.
  void drop_document();
  /// Between documents; `found`: in the range.
  void end_range(const Flaws& found, const LeftOut& left_out, const RolesMet& roles = {});
  /// Waits until all is written.
  void finish();

 private:
  struct Segment {
    std::vector<std::byte> tokens;
    std::vector<SpoolEntry> entries;  // offsets within the tokens
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
  std::shared_ptr<SpoolPartWriter> part_;
  std::uint64_t part_bytes_ = 0;  // given to it
  RangeSummary summary_;
  Segment segment_;

  // Of the document that is being written:
  std::uint64_t document_tokens_ = 0;
  bool document_has_targets_ = false;
  std::size_t document_begin_ = 0;                // in the segment
  std::optional<std::uint64_t> streamed_offset_;  // where it is too long for a segment: in the file
  Digester128 digester_;

  std::vector<Buffer> spare_buffers_;
  std::deque<std::future<Buffer>> in_flight_;
  Buffer sorted_;  // for who writes
  bool has_thread_;
  TaskPool<Buffer> pool_;  // of one thread, so that things are written in order
};

}  // namespace dt::data
