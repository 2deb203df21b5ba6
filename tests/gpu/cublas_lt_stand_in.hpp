#pragma once
// A library in cuBLASLt's place that multiplies nothing. Tests see dt's requests and choose the answers.

#include <cstddef>
#include <cstdint>

namespace dt::test_device {

/// The last request to the heuristic, and the number of requests. Settings that dt did not set have
/// cuBLASLt's defaults.
struct Asked {
  int times = 0;
  int epilogue = 1;  // CUBLASLT_EPILOGUE_DEFAULT
  const void* bias = nullptr;
  std::uint32_t reduction_schemes = 7;  // all
  std::uint64_t workspace_bytes = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};  // for A, B, C, D
};

/// The heuristic's answer: an algorithm that splits the inner dimension's sum into `parts`, if the request
/// allows it.
struct Answer {
  std::int32_t parts = 1;
  bool heeds_preference = true;
};

}  // namespace dt::test_device

extern "C" {
extern dt::test_device::Asked dt_asked;
extern dt::test_device::Answer dt_answer;
}
