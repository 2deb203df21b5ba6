#pragma once
// Blocks of tokens copied into shards and digested, several at once.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <vector>

#include "base/hdf5_file.hpp"
#include "data/task_pool.hpp"
#include "data/token_run.hpp"
#include "data/token_tally.hpp"

namespace dt::data {

/// Memory: a digest block for each thread and one more, at most eight; where documents are tiny fewer, as
/// each has a run. Errors of all calls: environment.
class BlockCopies {
 public:
  /// The caller's thread is one of `num_threads`.
  BlockCopies(int num_threads, bool masks_targets);
  /// What the runs hold goes to `offset` of the shard's tokens, in the background. The shard stays until
  /// finish() or the end of this object.
  void submit(Hdf5Writer& shard, std::uint64_t offset, std::vector<TokenRun> runs);
  /// Waits for all; the digests of the blocks since the last call, in the order of submission.
  std::vector<std::uint64_t> finish();
  /// Has been given the tokens of all blocks that finish() waited for.
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
  TaskPool<Copied> pool_;  // ends first
};

}  // namespace dt::data
