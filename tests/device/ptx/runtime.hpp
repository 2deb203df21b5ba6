#pragma once
// The kernels of the objects that a program is linked with.

#include <string>
#include <vector>

namespace dt::ptx {

/// Reads each of them. Errors: internal, naming the kernel and the instruction that is not known.
std::vector<std::string> read_all_kernels();
/// Those that no launch has run so far.
std::vector<std::string> kernels_never_launched();

}  // namespace dt::ptx
