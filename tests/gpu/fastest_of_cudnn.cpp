#include <map>

#include "gpu/comparisons.hpp"
#include "kernels/cuda/attention/cudnn/graphs.cuh"
#include "kernels/cuda/launch/device_stream.hpp"

namespace dt::test_device {

namespace {

namespace fe = cudnn_frontend;
using namespace kernels::cuda;

/// Returns the stream's handle. It is never destroyed: at the program's end the driver may have gone first.
cudnnHandle_t handle_of(const DeviceStream& at) {
  static std::map<Stream, cudnnHandle_t> handles;
  at.select_device("attention");
  cudnnHandle_t& handle = handles[at.stream];
  if (handle == nullptr && fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS) return nullptr;
  return fe::detail::set_stream(handle, at.native()) == CUDNN_STATUS_SUCCESS ? handle : nullptr;
}

}  // namespace

std::optional<Fastest> fastest_of_cudnn(const Measure& measure, const FusedAttention& forward,
                                        const FusedAttentionGradients* gradients) {
  const DeviceStream at(measure.context());
  if (kernels::attention_library().name.empty()) return std::nullopt;
  const cudnnHandle_t handle = handle_of(at);
  const Gpu gpu = accelerator().gpus().at(static_cast<std::size_t>(at.device.index()));
  const auto graph = graph_of(gradients ? problem_of(forward, *gradients) : problem_of(forward),
                              10 * gpu.major + gpu.minor, false);
  if (handle == nullptr || !plan_error(*graph, handle, false).empty()) return std::nullopt;
  Pointers pointers = gradients ? operands(forward, *gradients) : operands(forward);
  std::int64_t bytes = 0;
  bool is_done = graph->get_workspace_size(bytes).is_good();
  const Buffer workspace(at.device, static_cast<std::size_t>(bytes));
  const double seconds = measure.seconds(
      [&] { is_done = is_done && graph->execute(handle, pointers, workspace.data()).is_good(); });
  return is_done ? std::optional(Fastest{seconds, 1}) : std::nullopt;
}

}  // namespace dt::test_device
