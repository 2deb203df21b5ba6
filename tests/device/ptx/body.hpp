#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "device/ptx/module.hpp"

namespace dt::ptx {

/// Reads "(parameters) directives { body }" into a kernel.
/// Errors: internal, naming the kernel and the unknown instruction or name.
Kernel read_kernel(const std::string& name, std::string_view text,
                   const std::map<std::string, SharedName, std::less<>>& shared);

}  // namespace dt::ptx
