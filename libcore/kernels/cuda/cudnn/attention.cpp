// Attention by NVIDIA's cuDNN, which is loaded when the first is computed: where it is absent, dt's own
// kernels compute it.
//
// The same call gives the same bits: the kernel is the first that the library's heuristic names for a
// problem, never one that measurements chose, and one that the library calls deterministic.
#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <mutex>

#include "base/error.hpp"
#include "kernels/cuda/cudnn/front_end.cuh"
#include "kernels/cuda/cudnn/graphs.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/keys.hpp"
#include "kernels/cuda/on_stream.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace dt::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;

/// It stays loaded: a library that a driver knows of is not taken away.
bool is_loaded() {
  static const bool loaded = [] {
    for (const char* name : {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"})
      if ((fe::cudnn_dlhandle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) return true;
    return false;
  }();
  return loaded;
}

void check(Device device, const char* what, fe::error_t error) {
  if (error.is_bad()) dt::cuda::fail(device, what, error.get_message());
}

void check(Device device, const char* what, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) dt::cuda::fail(device, what, fe::detail::get_error_string(status));
}

/// The library's state for this thread, which is one of several ranks, and that GPU and stream. It stays: at
/// the program's end the driver may have gone first.
cudnnHandle_t handle_of(const OnStream& at) {
  thread_local std::map<int, cudnnHandle_t> handles;
  at.use("attention");
  cudnnHandle_t& handle = handles[at.device.index()];
  if (handle == nullptr) check(at.device, "cudnnCreate", fe::detail::create_handle(&handle));
  check(at.device, "cudnnSetStream", fe::detail::set_stream(handle, at.native()));
  return handle;
}

/// The front end throws what it finds missing of CUDA's own libraries.
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

/// Nothing, which is said, where cuDNN has no kernel for the problem.
std::shared_ptr<Graph> planned(const Context& context, const FusedProblem& problem) {
  const Gpu gpu = accelerator().gpus().at(static_cast<std::size_t>(context.device().index()));
  const std::shared_ptr<Graph> graph = graph_of(problem, 10 * gpu.major + gpu.minor);
  const std::string why = why_unplanned(*graph, handle_of(OnStream(context)));
  if (why.empty()) return graph;
  fmt::print(stderr,
             "warning: {}: cuDNN has no kernel for attention of {} heads of {} and {} positions, {}; slower "
             "ones compute it: {}\n",
             context.device().to_string(), problem.H, problem.D, problem.Tq,
             problem.is_backward ? "backward" : "forward", why);
  return nullptr;
}

/// What was planned so far: any rank's thread may ask.
std::shared_ptr<Graph> graph_for(const Context& context, const FusedProblem& problem) {
  static std::mutex mutex;
  static std::map<std::pair<int, FusedProblem>, std::shared_ptr<Graph>> known;
  const std::lock_guard lock(mutex);
  const std::pair key(context.device().index(), problem);
  auto entry = known.find(key);
  if (entry == known.end()) entry = known.emplace(key, planned(context, problem)).first;
  return entry->second;
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
    accelerator().give(context.stream(), key, [at = OnStream(context), graph, pointers, workspace]() mutable {
      told(at.device,
           [&] { check(at.device, "attention", graph->execute(handle_of(at), pointers, workspace.raw())); });
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

std::string attention_library() {
  if (!is_loaded()) return "";
  const std::size_t version = fe::detail::get_backend_version();
  return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace dt::kernels::cuda
