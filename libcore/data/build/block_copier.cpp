#include "data/build/block_copier.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/numeric/digest.hpp"

namespace dt::data {

namespace {

constexpr int max_blocks = 8;  // more do not make disks faster
constexpr std::size_t max_runs_in_flight = std::size_t{1} << 20;

void read_runs(const std::vector<FileTokens>& runs, std::vector<std::byte>& bytes) {
  std::size_t size = 0;
  for (const FileTokens& run : runs) size += run.bytes;
  bytes.resize(size);
  auto rest = std::span(bytes);
  for (const FileTokens& run : runs) {
    run.file->read_at(run.offset, rest.first(run.bytes));
    rest = rest.subspan(run.bytes);
  }
}

}  // namespace

BlockCopier::BlockCopier(int num_threads, bool masks_targets)
    : max_in_flight_(num_threads == 1 ? 1 : static_cast<std::size_t>(std::min(num_threads + 1, max_blocks))),
      tally_(masks_targets),
      pool_(num_threads - 1) {}

void BlockCopier::submit(Hdf5Writer& shard, std::uint64_t offset, std::vector<FileTokens> runs) {
  const std::size_t num_runs = runs.size();
  while (is_full(num_runs)) finish_first();
  runs_in_flight_ += num_runs;
  auto copied =
      pool_.submit([&shard, offset, runs = std::move(runs), bytes = spare_buffer()]() mutable -> Copied {
        read_runs(runs, bytes);
        shard.write("/tokens", offset, bytes);
        const std::uint64_t block_digest = dt::digest(bytes);
        return {std::move(bytes), block_digest};
      });
  in_flight_.push_back({std::move(copied), num_runs});
}

bool BlockCopier::is_full(std::size_t runs) const {
  return !in_flight_.empty() &&
         (in_flight_.size() == max_in_flight_ || runs_in_flight_ + runs > max_runs_in_flight);
}

std::vector<std::byte> BlockCopier::spare_buffer() {
  if (spare_buffers_.empty()) return {};
  std::vector<std::byte> buffer = std::move(spare_buffers_.back());
  spare_buffers_.pop_back();
  return buffer;
}

void BlockCopier::finish_first() {
  Copied block = pool_.get(in_flight_.front().copied);
  runs_in_flight_ -= in_flight_.front().runs;
  in_flight_.pop_front();
  digests_.push_back(block.digest);
  tally_.update(block.bytes);
  spare_buffers_.push_back(std::move(block.bytes));
}

std::vector<std::uint64_t> BlockCopier::finish() {
  while (!in_flight_.empty()) finish_first();
  return std::exchange(digests_, {});
}

}  // namespace dt::data
