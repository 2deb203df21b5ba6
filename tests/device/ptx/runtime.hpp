#pragma once
// The kernels of the objects that a program is linked with.

#include <string>
#include <vector>

namespace dt::ptx {

/// Returns the kernels that no launch has run so far.
std::vector<std::string> kernels_never_launched();

}  // namespace dt::ptx
