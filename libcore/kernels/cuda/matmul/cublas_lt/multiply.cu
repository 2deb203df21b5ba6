// Multiplies by NVIDIA's cuBLASLt.
//
// The same call gives the same bits. The algorithm is the first that the library's heuristic names
// for a problem, never one that measurements chose. The library promises that an algorithm repeats
// its bits on one kind of GPU. Each product's workspace is the context's own, so that streams share
// none.

#include "base/error.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/matmul/cublas_lt/algorithms.cuh"
#include "kernels/cuda/matmul/cublas_lt/description.cuh"

namespace dt::kernels::cuda {

namespace cublas_lt {
namespace {

struct Call {
  DeviceStream at;
  Arithmetic arithmetic;
  Matmul product;
  Algorithm chosen;
  Tensor workspace;

  void operator()() const {
    const Matmul& p = product;
    at.select_device("cublasLtMatmul");
    const Description d(at.device, arithmetic, p);
    const auto multiply_with = [&](auto alpha, auto beta) {
      return library().cublasLtMatmul(handle_of(at.device), d.operation.get(), &alpha, p.right.stored.raw(),
                                      d.right.get(), p.left.stored.raw(), d.left.get(), &beta,
                                      (p.added_MN ? p.added_MN : p.output_MN).raw(), d.output.get(),
                                      p.output_MN.raw(), d.output.get(), &chosen.algorithm, workspace.raw(),
                                      chosen.workspace_bytes, at.native());
    };
    check(at.device, "cublasLtMatmul",
          p.output_MN.dtype() == DType::f64 ? multiply_with(1.0, p.added_MN ? 1.0 : 0.0)
                                            : multiply_with(1.0F, p.added_MN ? 1.0F : 0.0F));
  }
};

}  // namespace
}  // namespace cublas_lt

bool enqueue_matmul(const Context& context, const Matmul& product) {
  using namespace cublas_lt;
  const DeviceStream at(context);
  at.select_device("cublasLtMatmul");
  const std::optional<Algorithm> chosen = choose_algorithm(context, product);
  if (!chosen) return false;
  const Arena::Scope scope(context.scratch());
  const Tensor workspace =
      context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(chosen->workspace_bytes)});
  WorkKey key = key_of(context, product);
  key.add(workspace.raw());
  accelerator().submit(at.stream, key, Call{at, context.arithmetic(), product, *chosen, workspace});
  return true;
}

}  // namespace dt::kernels::cuda
