// Checks, without a GPU, that cuDNN makes kernels for the attention that dt asks it for, on the kinds of
// GPUs for which dt's own kernels are compiled. With an argument, it only checks that cuDNN's front end
// finds the CUDA runtime. Exit status: 77 if there is no cuDNN.

#include <cmath>
#include <fmt/format.h>
#include <iostream>

#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/cuda/attention/cudnn/graphs.cuh"
#include "kernels/cuda/launch/kernels.hpp"

namespace {

namespace fe = cudnn_frontend;
using dt::DType;
using dt::kernels::cuda::FusedProblem;
using dt::kernels::cuda::Mask;

/// Published properties of a GPU.
struct Kind {
  const char* name;
  int capability, processors, shared_bytes;
};
constexpr Kind kinds[] = {{"A100", 80, 108, 166912}, {"H100", 90, 132, 232448}};

std::shared_ptr<fe::DeviceProperties> properties(const Kind& kind) {
  const std::string text = fmt::format(
      R"({{"deviceName": "{}", "deviceVer": {}, "multiProcessorCount": {}, "maxSharedMemoryPerBlockOptin": {},
      "maxSharedMemoryPerBlock": 49152, "reservedSharedMemoryPerBlock": 1024, "regsPerBlock": 65536, "warpSize": 32,
      "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
      "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "pciDeviceId": 0,
      "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85000000000, "smClockRateKHz": 1410000,
      "memClockRateKHz": 1593000, "l2CacheSize": 41943040, "cudaDeviceId": 0, "driverVer": 13000}})",
      kind.name, 10 * kind.capability, kind.processors, kind.shared_bytes);
  auto result = std::make_shared<fe::DeviceProperties>();
  const fe::error_t error = result->deserialize({text.begin(), text.end()});
  return error.is_bad() ? nullptr : result;
}

/// Returns a problem with heads in packed rows; so are their gradients.
FusedProblem problem(DType dtype, Mask mask, std::int64_t B, std::int64_t H, std::int64_t K, std::int64_t T,
                     std::int64_t D, float softcap = 0) {
  const std::int64_t E = (H + 2 * K) * D;
  return {.dtype = dtype,
          .mask = mask,
          .B = B,
          .H = H,
          .K = K,
          .Tq = T,
          .Tk = T,
          .D = D,
          .scale = 1 / std::sqrt(static_cast<float>(D)),
          .softcap = softcap,
          .strides = {E, E, E},
          .y_stride = H * D};
}

/// Returns the backward problem, with gradients in rows of their own.
FusedProblem backward_of(FusedProblem p) {
  p.is_backward = true;
  p.dy_stride = p.y_stride;
  p.gradient_strides = {p.H * p.D, 2 * p.K * p.D, 2 * p.K * p.D};
  return p;
}
FusedProblem with_packed_gradients(FusedProblem p) {
  p.gradient_strides = p.strides;
  return p;
}

const FusedProblem problems[] = {
    problem(DType::bf16, Mask::causal, 4, 12, 12, 1024, 64),  // GPT-2
    problem(DType::bf16, Mask::causal, 2, 32, 8, 2048, 128),  // Llama 3
    problem(DType::bf16, Mask::causal, 1, 4, 1, 8192, 128),   //
    problem(DType::f16, Mask::causal, 2, 6, 3, 1000, 80),     // odd lengths, other widths
    problem(DType::bf16, Mask::causal, 3, 2, 2, 17, 8),       //
    problem(DType::bf16, Mask::none, 1, 16, 4, 1024, 128),    // ring attention
    problem(DType::bf16, Mask::added, 2, 12, 12, 1024, 64),   // documents, windows
    problem(DType::f16, Mask::added, 1, 8, 2, 333, 96),
    problem(DType::bf16, Mask::added, 1, 8, 2, 2048, 128),  // chunks of ring attention
    problem(DType::bf16, Mask::causal, 1, 4, 1, 16384,
            128),  // weights that do not fit: see choose_backward_algorithm
    problem(DType::f16, Mask::added, 1, 4, 1, 16384, 128),       //
    problem(DType::bf16, Mask::causal, 2, 8, 4, 2048, 128, 50),  // soft caps
    problem(DType::bf16, Mask::none, 1, 8, 4, 1024, 128, 50),    //
    problem(DType::bf16, Mask::added, 1, 8, 4, 1024, 64, 50),    //
};

/// The outcome of a plan; `why` is empty if cuDNN makes a kernel.
struct Made {
  std::string why;
  std::int64_t workspace_bytes = 0;
};
Made make(const Kind& kind, const FusedProblem& problem) {
  const auto graph = dt::kernels::cuda::graph_of(problem, kind.capability);
  const auto device = properties(kind);
  if (!device) return {"cuDNN knows GPUs by other properties"};
  graph->set_device_properties(device);
  Made made{dt::kernels::cuda::plan_error(*graph, nullptr)};
  if (made.why.empty() && graph->get_workspace_size(made.workspace_bytes).is_bad())
    made.why = "no workspace's size";
  return made;
}

/// Returns the estimate for the workspace of a backward pass. It also counts a mask, and gradients in rows
/// of their own.
std::int64_t estimate(const Kind& kind, const FusedProblem& p, int ordered_major) {
  return static_cast<std::int64_t>(dt::kernels::cuda::attention_scratch_bytes(
      {p.B, p.Tq, p.H, p.K, p.D},
      {.dtype = p.dtype,
       .in_place = true,
       .is_masked = false,
       .can_order = ordered_major != 0 && kind.capability / 10 == ordered_major}));
}

}  // namespace

int main(int argc, char**) {
  dt::kernels::cuda::prepare_fused_attention();
  const auto [library, why_not, ordered_major] = dt::kernels::cuda::attention_library();
  if (library.empty()) {
    std::cout << "SKIP: " << why_not << "\n";
    return 77;
  }
  // Throws if the front end does not find the CUDA runtime.
  std::cout << fmt::format("{} with CUDA runtime {}\n", library, fe::detail::get_cuda_runtime_version());
  if (argc > 1) return 0;
  bool has_all = true;
  for (const Kind& kind : kinds)
    for (const FusedProblem& forward : problems)
      for (const FusedProblem& p :
           {forward, backward_of(forward), with_packed_gradients(backward_of(forward))}) {
        const auto [why, bytes] = make(kind, p);
        const bool is_estimated = !p.is_backward || bytes <= estimate(kind, p, ordered_major);
        has_all = has_all && why.empty() && is_estimated;
        std::cout << fmt::format(
            "{} on {}: {}, mask {}, {} sequences of {}, {}/{} heads of {}{}: {}{}\n", library, kind.name,
            dt::dtype_name(p.dtype), static_cast<int>(p.mask), p.B, p.Tq, p.H, p.K, p.D,
            p.is_backward ? p.gradient_strides == p.strides ? ", backward, packed" : ", backward" : "",
            why.empty() ? fmt::format("made, workspace {} bytes", bytes) : why,
            is_estimated ? ""
                         : fmt::format(", more than the {} estimated", estimate(kind, p, ordered_major)));
      }
  return has_all ? 0 : 1;
}
