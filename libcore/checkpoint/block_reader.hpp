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

/// Copies runs, ascending in `source`, of a payload of `payload_bytes` into `out`, converting the element
/// type. Every block that a run touches is loaded once, as a whole. `buffer` is scratch that several calls
/// may share.
void copy_runs(std::span<const CopyRun> runs, DType dtype, std::uint64_t payload_bytes, const LoadBlock& load,
               const Tensor& out, std::vector<std::byte>& buffer);

}  // namespace dt::checkpoint
