#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dt::ptx {

/// The PTX in what nvcc embeds in an object: of the newest architecture, where there are several. Empty where
/// there is none. Errors: internal, where it is compressed in a way that is not known.
std::string ptx_of(const std::byte* fat_binary);

}  // namespace dt::ptx
