#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dt::ptx {

/// Returns the PTX that nvcc embeds in an object, of the newest architecture if there are several. Returns
/// "" if there is none.
/// Errors: internal, the PTX is compressed in an unknown way.
std::string ptx_of(const std::byte* fat_binary);

}  // namespace dt::ptx
