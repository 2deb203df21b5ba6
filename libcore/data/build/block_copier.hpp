#pragma once
// Copies and digests blocks of tokens for shards, several at once.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <vector>

#include "base/hdf5/hdf5_file.hpp"
#include "base/system/task_pool.hpp"
#include "data/build/spool_file.hpp"
#include "data/read/token_shard.hpp"

namespace dt::data {

/// Copies blocks in the background. Memory: one digest block per thread and one more, at most eight. If
/// documents are tiny, fewer blocks are in flight, since each document has its own run.
/// Errors: environment, from all calls.
class BlockCopier {
 public:
  /// Creates the pool. The caller's thread counts as one of `num_threads`.
  BlockCopier(int num_threads, bool masks_targets);
  /// Starts to copy the runs' tokens to `offset` of the shard's tokens. The shard must live until
  /// finish() returns or this object is destroyed.
  void submit(Hdf5Writer& shard, std::uint64_t offset, std::vector<FileTokens> runs);
  /// Waits for all copies. Returns the digests of the blocks since the last call, in the order of
  /// submission.
  std::vector<std::uint64_t> finish();
  /// Returns the tally of the tokens of all blocks that finish() waited for.
  TokenTally& tally() { return tally_; }

 private:
  struct Copied {
    std::vector<std::byte> bytes;
    std::uint64_t digest;
  };
  struct InFlight {
    std::future<Copied> copied;
    std::size_t runs;
  };
  bool is_full(std::size_t runs) const;
  std::vector<std::byte> spare_buffer();
  void finish_first();

  std::size_t max_in_flight_;
  std::deque<InFlight> in_flight_;
  std::size_t runs_in_flight_ = 0;
  std::vector<std::vector<std::byte>> spare_buffers_;
  std::vector<std::uint64_t> digests_;
  TokenTally tally_;
  TaskPool<Copied> pool_;  // destroyed first
};

}  // namespace dt::data
