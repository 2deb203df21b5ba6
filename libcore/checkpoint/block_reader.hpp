#pragma once
// Runs of elements out of a payload that is read in blocks.

#include <functional>
#include <span>
#include <vector>

#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// Fills `bytes` with the payload's block of that number (each of digest_block_bytes, the last may be short),
/// or throws.
using LoadBlock = std::function<void(std::uint64_t block, std::span<std::byte> bytes)>;
/// The same block where it lies, `count` bytes; they stay until the next call.
using ViewBlock = std::function<std::span<const std::byte>(std::uint64_t block, std::size_t count)>;

/// Copies runs, ascending in `source`, of a payload of `payload_bytes` into `out`, converting the element
/// type. Blocks that a run takes as a whole and as they are, are loaded into their place; of others the view
/// is asked once for all runs in a row that touch it.
void copy_runs(std::span<const CopyRun> runs, DType dtype, std::uint64_t payload_bytes, const LoadBlock& load,
               const ViewBlock& view, const Tensor& out);

/// Without a place where blocks lie: every block that a run touches is loaded once, as a whole. `buffer` is
/// scratch that several calls may share.
void copy_runs(std::span<const CopyRun> runs, DType dtype, std::uint64_t payload_bytes, const LoadBlock& load,
               const Tensor& out, std::vector<std::byte>& buffer);

}  // namespace dt::checkpoint
