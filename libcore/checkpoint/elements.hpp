#pragma once
// Copies of elements between files and memory, with conversion of their type.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/numeric/dtype.hpp"
#include "tensor/piece.hpp"
#include "tensor/tensor.hpp"

namespace dt::checkpoint {

/// Returns whether copy_elements() supports this pair: equal types, or any two floats.
bool is_convertible(DType from, DType to);

/// Copies `count` elements. `source` may be unaligned.
/// Numerics: rounds once, to nearest, ties to even. A value too large becomes infinite.
void copy_elements(DType from, const std::byte* source, DType to, std::byte* target, std::int64_t count);

/// Fills `bytes` with block number `block` of the payload, or throws. Blocks have
/// digest_block_bytes; the last may be short.
using LoadBlock = std::function<void(std::uint64_t block, std::span<std::byte> bytes)>;
/// Returns a view of the same block, of `count` bytes, valid until the next call.
using ViewBlock = std::function<std::span<const std::byte>(std::uint64_t block, std::size_t count)>;

/// Copies runs of a payload of `payload_bytes` into `out`, converting the element type. Runs ascend
/// in `source`. Loads a block directly into `out` if a run covers it whole, without conversion. For
/// any other block, calls `view` once for all consecutive runs that touch it.
void copy_ranges(std::span<const CopyRange> runs, DType dtype, std::uint64_t payload_bytes,
                 const LoadBlock& load, const ViewBlock& view, const Tensor& out);

/// The same without `view`: loads every block that a run touches once, as a whole. `buffer` is
/// scratch memory that several calls may share.
void copy_ranges(std::span<const CopyRange> runs, DType dtype, std::uint64_t payload_bytes,
                 const LoadBlock& load, const Tensor& out, std::vector<std::byte>& buffer);

}  // namespace dt::checkpoint
