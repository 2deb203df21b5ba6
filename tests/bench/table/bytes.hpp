#pragma once
// Speed of kernels that memory bounds, against streaming.

#include "base/numeric/dtype.hpp"

namespace dt::table {

/// Prints rows of bytes ÷ time ÷ the machine's streaming rate. Each byte is counted once for each time that
/// it must be read or written.
void report_bytes(DType dtype);

}  // namespace dt::table
