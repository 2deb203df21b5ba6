#include "run/save/writing_group.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>

#include "base/error.hpp"
#include "base/numeric/integer.hpp"
#include "base/system/host.hpp"
#include "base/text/text.hpp"
#include "comm/exchange.hpp"

namespace dt::run {

namespace {

using checkpoint::PieceSpec;
using checkpoint::SourcePiece;

constexpr std::size_t alignment = 64;
constexpr auto look_again_after = std::chrono::milliseconds(1);

std::size_t bytes_of(const PieceSpec& spec) {
  return storage_bytes(spec.dtype, spec.piece.numel());
}

/// Returns the bytes of a shard whose pieces lie one after another.
std::size_t packed_bytes(std::span<const PieceSpec> shard) {
  std::size_t bytes = 0;
  for (const PieceSpec& spec : shard) bytes += round_up(bytes_of(spec), alignment);
  return bytes;
}

std::vector<SourcePiece> pack_pieces(std::span<const PieceSpec> shard, std::byte* memory) {
  std::vector<SourcePiece> pieces;
  for (const PieceSpec& spec : shard) {
    pieces.push_back({spec.tensor, spec.kind, spec.piece,
                      Tensor(memory, spec.dtype, Shape{spec.piece.numel()}, Device::host())});
    memory += round_up(bytes_of(spec), alignment);
  }
  return pieces;
}

// Shared memory begins with the number of copies made into it. The pieces follow.
constexpr std::size_t count_bytes = alignment;

comm::SharedMemory memory_for(std::span<const PieceSpec> shard) {
  return comm::SharedMemory(count_bytes + packed_bytes(shard));
}

std::atomic_ref<std::uint64_t> num_copies(const comm::SharedMemory& memory) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory.data()));
}

/// Returns which of `num_groups` groups of `count` ranks contains rank number `index`.
int group_of(int index, int num_groups, int count) {
  int group = num_groups - 1;
  while (index < even_range(group, num_groups, count).begin) --group;
  return group;
}

Error cannot_share(const std::string& what) {
  return Error(ErrorKind::environment, what,
               "ranks that write one file together share memory through /proc: omit "
               "--checkpoint-writers-per-node, and each rank writes its own file");
}

std::string to_text(const comm::SharedMemory::Offer& offer) {
  return {reinterpret_cast<const char*>(&offer), sizeof offer};
}

comm::SharedMemory::Offer from_text(const std::string& text) {
  comm::SharedMemory::Offer offer;
  DT_CHECK(text.size() == sizeof offer, "an offer has {} bytes, expected {}", text.size(), sizeof offer);
  std::memcpy(&offer, text.data(), sizeof offer);
  return offer;
}

}  // namespace

std::vector<int> assign_files(std::span<const std::string> hosts, std::int64_t per_host) {
  std::map<std::string, int> num_ranks;
  for (const std::string& host : hosts) ++num_ranks[host];
  std::map<std::string, int> num_seen;
  std::map<std::pair<std::string, int>, int> numbers;
  std::vector<int> files;
  for (const std::string& host : hosts) {
    const int count = num_ranks[host];
    const int num_groups = static_cast<int>(std::min<std::int64_t>(per_host, count));
    const int group = group_of(num_seen[host]++, num_groups, count);
    files.push_back(numbers.try_emplace({host, group}, static_cast<int>(numbers.size())).first->second);
  }
  return files;
}

AggregationGroup::AggregationGroup(comm::Communicator& world, const StateShards& shards,
                                   std::optional<std::int64_t> writers_per_node, bool in_background)
    : trained_by_(shards.trained_by) {
  std::vector<int> files(static_cast<std::size_t>(world.size()));
  std::iota(files.begin(), files.end(), 0);
  if (writers_per_node) files = assign_files(comm::gather_texts(world, host_name()), *writers_per_node);
  num_files_ = *std::max_element(files.begin(), files.end()) + 1;
  file_ = files[static_cast<std::size_t>(world.rank())];
  writes_ = std::find(files.begin(), files.end(), file_) - files.begin() == world.rank();
  const std::vector<PieceSpec> shard = shards.of_rank(world.rank());
  comm::run_collectively(world, [&] { make_memory(shard, in_background); });
  if (num_files_ < world.size()) map_others(world, shards, files);
}

void AggregationGroup::make_memory(std::span<const PieceSpec> shard, bool in_background) {
  const bool is_on_device = trained_by_.device() != Device::host();
  if (is_on_device) stream_.emplace(trained_by_.device(), "copying a checkpoint");
  if (!writes_) return make_shared_memory(shard);
  if (!in_background && !is_on_device) return;
  own_memory_ = Buffer(Device::host(), packed_bytes(shard), is_on_device ? Pages::pinned : Pages::huge);
  copies_ = pack_pieces(shard, own_memory_.data());
}

void AggregationGroup::make_shared_memory(std::span<const PieceSpec> shard) {
  shared_memory_.emplace(memory_for(shard));
  offer_ = shared_memory_->make();
  if (offer_.descriptor < 0) {
    throw cannot_share(
        fmt::format("cannot make {} of memory that ranks share", format_bytes(shared_memory_->bytes())));
  }
  // A device copies into unpinned memory synchronously, which blocks for ever if earlier work
  // hangs.
  if (stream_) pinned_.emplace(shared_memory_->data(), shared_memory_->bytes());
  copies_ = pack_pieces(shard, shared_memory_->data() + count_bytes);
}

void AggregationGroup::map_others(comm::Communicator& world, const StateShards& shards,
                                  std::span<const int> files) {
  const std::vector<std::string> offers = comm::gather_texts(world, to_text(offer_));
  comm::run_collectively(world, [&] {
    for (int rank = world.rank() + 1; writes_ && rank < world.size(); ++rank) {
      if (files[static_cast<std::size_t>(rank)] != file_) continue;
      const std::vector<PieceSpec> shard = shards.of_rank(rank);
      Member& other = members_.emplace_back(Member{memory_for(shard), {}});
      if (!other.memory.accept(from_text(offers[static_cast<std::size_t>(rank)])))
        throw cannot_share(fmt::format("cannot map the memory that rank {} shares on {}", rank, host_name()));
      other.pieces = pack_pieces(shard, other.memory.data() + count_bytes);
    }
  });
  if (shared_memory_) shared_memory_->close_offer();
}

void AggregationGroup::order_after_training() {
  if (stream_) accelerator().wait_stream(*stream_, trained_by_.stream());
}

void AggregationGroup::copy_piece(const Tensor& from, const Tensor& to) {
  if (from.device() == Device::host()) {
    std::memcpy(to.raw(), from.raw(), to.bytes());
  } else {
    accelerator().copy(*stream_, to.raw(), from.raw(), to.bytes());
  }
}

void AggregationGroup::copy(std::vector<SourcePiece>& pieces) {
  DT_CHECK(pieces.size() == copies_.size(), "cannot copy {} pieces into memory for {}", pieces.size(),
           copies_.size());
  for (std::size_t i = 0; i < copies_.size(); ++i) copy_piece(pieces[i].data, copies_[i].data);
  if (stream_) accelerator().synchronize(*stream_);
  pieces = copies_;
  if (shared_memory_) num_copies(*shared_memory_).store(++num_copied_, std::memory_order_release);
}

void AggregationGroup::append_members(std::vector<SourcePiece>& pieces,
                                      const std::function<void()>& waiting) {
  ++num_collected_;
  for (const Member& other : members_) {
    while (num_copies(other.memory).load(std::memory_order_acquire) < num_collected_) {
      waiting();
      std::this_thread::sleep_for(look_again_after);
    }
    pieces.insert(pieces.end(), other.pieces.begin(), other.pieces.end());
  }
}

}  // namespace dt::run
