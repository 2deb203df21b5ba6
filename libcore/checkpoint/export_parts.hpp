#pragma once
// What the exports share.

#include <functional>
#include <span>
#include <string>

#include "checkpoint/reader.hpp"

namespace dt::checkpoint {

/// The type in which a parameter is stored. Errors: input where it is missing.
DType stored_dtype(const Reader& checkpoint, const std::string& param);

/// The whole of a parameter, in row-major order, in blocks of digest_block_bytes (the last may be short).
void for_each_block(const Reader& checkpoint, const std::string& param, const Shape& shape, DType dtype,
                    const std::function<void(std::span<const std::byte>)>& use);

}  // namespace dt::checkpoint
