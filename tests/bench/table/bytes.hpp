#pragma once
// Kernels that memory bounds, against streaming.

#include "base/dtype.hpp"

namespace dt::table {

/// Rows of bytes ÷ time ÷ the machine's streaming rate, each byte counted once for each time that it must be
/// read or written.
void report_bytes(DType dtype);

}  // namespace dt::table
