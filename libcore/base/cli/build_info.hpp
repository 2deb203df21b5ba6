#pragma once
// The build of this program and the instruction set of this processor.

#include <cstdint>
#include <string>

namespace dt {

/// Returns the version, such as "0.1.0".
std::string dt_version();
/// Returns version and compiler, such as "dt 0.1.0, gcc 12.2.0".
std::string build_description();
/// Returns what a bug report needs: revision, compiler and libraries of the build, processor and
/// system, a line each. Starts neither MPI nor CUDA.
std::string build_report();
/// Returns the digest of the file that this process runs. It covers every kernel, since libcore is
/// linked statically.
std::uint64_t executable_digest();
/// Returns the widest vector instructions of this processor: "avx512_bf16", "avx512", "avx2", or
/// the architecture's name.
std::string instruction_set();

}  // namespace dt
