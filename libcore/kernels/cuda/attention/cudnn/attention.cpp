// Computes attention by NVIDIA's cuDNN, which is loaded when the first attention is computed. If it
// is absent, dt's own kernels compute attention.
//
// The same call gives the same bits. The kernel is the first that the library's heuristic names for a
// problem, never one that measurements chose, and the library calls it deterministic.
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "kernels/cuda/attention/attention_by_library.hpp"
#include "kernels/cuda/attention/cudnn/graphs.cuh"
#include "kernels/cuda/attention/cudnn/libraries.hpp"
#include "kernels/cuda/attention/cudnn/thread_cache.hpp"
#include "kernels/cuda/attention/fused_attention.hpp"
#include "kernels/cuda/launch/device_stream.hpp"
#include "kernels/cuda/launch/kernels.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace dt::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;

// Environment variables that the front end reads.
// Source: cudnn-frontend 1.32, cudnn_frontend_shim.h (load_cudart_so) and
// node/scaled_dot_product_flash_attention.h (expand_node of the backward pass).
constexpr const char *runtime_variable = "CUDNN_FRONTEND_CUDART_LIB_NAME",
                     *weights_limit_variable = "CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT";
constexpr int cuda_major = CUDART_VERSION / 1000;
constexpr std::size_t first_ordered_version = 92500;  // on compute capability 9

/// Returns the libraries. If cuDNN is not there, unavailable_reason says why.
const CudnnLibraries& libraries() {
  static const CudnnLibraries opened = [] {
    const char* const named = std::getenv(runtime_variable);
    const bool is_asked = named != nullptr && named != runtime_name(cuda_major);
    CudnnLibraries result = open_cudnn(process_loader(), cuda_major, is_asked ? named : "");
    fe::cudnn_dlhandle = result.cudnn;
    return result;
  }();
  return opened;
}

bool is_loaded() {
  return libraries().cudnn != nullptr;
}

void check(Device device, const char* what, fe::error_t error) {
  if (error.is_bad()) dt::cuda::fail(device, what, error.get_message());
}

void check(Device device, const char* what, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) dt::cuda::fail(device, what, fe::detail::get_error_string(status));
}

/// Returns the library's state for this thread, which is one of several ranks, on that GPU and
/// stream.
cudnnHandle_t handle_of(const DeviceStream& at) {
  at.select_device("attention");
  const cudnnHandle_t handle = thread_cached<int, cudnnHandle_t>(at.device.index(), [&] {
    cudnnHandle_t made = nullptr;
    check(at.device, "cudnnCreate", fe::detail::create_handle(&made));
    return made;
  });
  check(at.device, "cudnnSetStream", fe::detail::set_stream(handle, at.native()));
  return handle;
}

/// Runs `deed`, and reports what the front end throws when it misses CUDA's own libraries.
template <class Deed>
auto told(Device device, const Deed& deed) {
  try {
    return deed();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    dt::cuda::fail(device, "attention by cuDNN", error.what());
  }
}

/// Returns the plan of a problem, or nothing if cuDNN has no kernel for it. attention_fallbacks
/// reports that.
std::shared_ptr<Graph> planned(const Context& context, const FusedProblem& problem) {
  const Gpu gpu = accelerator().gpus().at(static_cast<std::size_t>(context.device().index()));
  const std::shared_ptr<Graph> graph = graph_of(problem, 10 * gpu.major + gpu.minor);
  const std::string why = plan_error(*graph, handle_of(DeviceStream(context)));
  if (why.empty()) return graph;
  record_attention_fallback(fmt::format(
      "cuDNN has no kernel for the {} of attention{} with {} heads of {}, {} queries and {} keys: {}",
      problem.is_backward ? "backward pass" : "forward pass",
      problem.softcap == 0 ? "" : " of soft-capped scores", problem.H, problem.D, problem.Tq, problem.Tk,
      why.substr(0, why.find('\n'))));  // the other lines list what cuDNN tried
  return nullptr;
}

/// Returns the plan that this thread made: cuDNN does not promise that two threads may use a plan.
std::shared_ptr<Graph> graph_for(const Context& context, const FusedProblem& problem) {
  using Key = std::pair<int, FusedProblem>;
  return thread_cached<Key, std::shared_ptr<Graph>>(Key(context.device().index(), problem),
                                                    [&] { return planned(context, problem); });
}

bool execute(const Context& context, const FusedProblem& problem, WorkKey key, Pointers pointers) {
  if (!is_loaded()) return false;
  return told(context.device(), [&] {
    const std::shared_ptr<Graph> graph = graph_for(context, problem);
    if (!graph) return false;
    std::int64_t bytes = 0;
    check(context.device(), "attention's workspace", graph->get_workspace_size(bytes));
    const Arena::Scope scope(context.scratch());
    const Tensor workspace = context.scratch().allocate(DType::u8, {bytes});
    key.add(workspace.raw());
    accelerator().submit(
        context.stream(), key, [at = DeviceStream(context), graph, pointers, workspace]() mutable {
          told(at.device, [&] {
            check(at.device, "attention", graph->execute(handle_of(at), pointers, workspace.raw()));
          });
        });
    return true;
  });
}

}  // namespace

bool attend(const Context& context, const FusedAttention& attention) {
  return execute(context, problem_of(attention), key_of(attention), operands(attention));
}

bool attend_backward(const Context& context, const FusedAttention& attention,
                     const FusedAttentionGradients& gradients) {
  return execute(context, problem_of(attention, gradients), key_of(attention, gradients),
                 operands(attention, gradients));
}

AttentionLibrary attention_library() {
  if (!is_loaded()) return {.unavailable_reason = libraries().unavailable_reason};
  const std::size_t version = fe::detail::get_backend_version();
  return {.name = fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100),
          .ordered_major = version >= first_ordered_version ? 9 : 0};
}

void prepare_fused_attention() {
  ::setenv(runtime_variable, runtime_name(cuda_major).c_str(), 0);
  // Only the limit and the shape decide: a user's own limit would be a hidden condition of the bits.
  ::setenv(weights_limit_variable, std::to_string(max_chunk_bytes).c_str(), 1);
}

}  // namespace dt::kernels::cuda
