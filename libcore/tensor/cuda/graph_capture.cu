#include <atomic>
#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "tensor/cuda/check.cuh"
#include "tensor/cuda/gpus.hpp"
#include "tensor/cuda/graph_capture.hpp"

namespace dt::cuda {

namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
};
struct DestroyExecutable {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using Executable = std::shared_ptr<CUgraphExec_st>;

/// Captures the work that `enqueue` enqueues on the stream. Ends the capture even if `enqueue`
/// throws. During the capture, CUDA forbids unsafe calls to this thread alone.
Graph captured(Device device, cudaStream_t stream, const GraphCache::Enqueue& enqueue) {
  check(device, "capturing work", cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();  // the error of the cancelled capture
    const Graph given_up(graph);
    throw;
  }
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  Graph whole(graph);
  check(device, "capturing work", error);
  return whole;
}

/// Returns the executable graph, already uploaded, so that its first launch does not wait for the
/// upload.
Executable executable(Device device, cudaStream_t stream, const Graph& graph) {
  cudaGraphExec_t made = nullptr;
  check(device, "making a graph", cudaGraphInstantiate(&made, graph.get(), 0));
  const Executable whole(made, DestroyExecutable());
  check(device, "making a graph", cudaGraphUpload(made, stream));
  return whole;
}

void warn(const Error& error) {
  static std::atomic<bool> was_said = false;
  if (was_said.exchange(true)) return;
  std::fprintf(stderr, "warning: kernels are launched one by one, which takes the host longer: %s\n",
               error.what());
}

}  // namespace

GraphCache::Enqueue capture(Device device, Stream stream, const GraphCache::Enqueue& enqueue) {
  const auto native = reinterpret_cast<cudaStream_t>(stream);
  select(device);
  try {
    const Executable graph = executable(device, native, captured(device, native, enqueue));
    return [device, native, graph] {
      select(device);
      check(device, "launching a graph", cudaGraphLaunch(graph.get(), native));
    };
  } catch (const Error& error) {
    warn(error);
    return {};
  }
}

}  // namespace dt::cuda
