#pragma once
// A library in cuBLASLt's place, which multiplies nothing: what dt asks it can be seen, and what it answers
// is chosen.

#include <cstddef>
#include <cstdint>

namespace dt::test_device {

/// What the heuristic was asked last, and how often in all. Of what was not set, what cuBLASLt takes.
struct Asked {
  int times = 0;
  int epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT
  const void* bias = nullptr;
  std::uint32_t reduction_schemes = 7;  // all
  std::uint64_t workspace_bytes = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};  // of A, B, C, D
};

/// What it answers: an algorithm that sums as many parts of the inner dimension apart, if it is let.
struct Answer {
  std::int32_t parts = 1;
  bool heeds_preference = true;
};

}  // namespace dt::test_device

extern "C" {
extern dt::test_device::Asked dt_asked;
extern dt::test_device::Answer dt_answer;
}
