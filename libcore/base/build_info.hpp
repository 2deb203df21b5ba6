#pragma once
// What this program was built as and what it may use of the processor.

#include <cstdint>
#include <string>

namespace dt {

/// "0.1.0"
std::string dt_version();
/// "dt 0.1.0, gcc 12.2.0"
std::string build_description();
/// Of the file that this process runs, and so of every kernel in it: libcore is linked statically.
std::uint64_t executable_digest();
/// The widest vector instructions of this processor: "avx512_bf16", "avx512", "avx2", or the architecture's
/// name.
std::string instruction_set();

}  // namespace dt
