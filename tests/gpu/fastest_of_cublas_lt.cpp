#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "gpu/comparisons.hpp"
#include "kernels/cuda/launch/device_stream.hpp"
#include "kernels/cuda/matmul/cublas_lt/library.cuh"

namespace dt::test_device {

namespace {

using namespace kernels::cuda::cublas_lt;
using kernels::cuda::Matmul;

constexpr int most_algorithms = 64, times_at_first = 3;

using Found = std::array<cublasLtMatmulHeuristicResult_t, most_algorithms>;

int find(Device device, const Description& d, Found& found) {
  cublasLtMatmulPreference_t made = nullptr;
  check(device, "cublasLtMatmulPreferenceCreate", library().cublasLtMatmulPreferenceCreate(&made));
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&Library::cublasLtMatmulPreferenceDestroy>>
      preference(made);
  constexpr std::uint64_t workspace_bytes = kernels::cuda::most_workspace_bytes;
  check(device, "cublasLtMatmulPreferenceSetAttribute",
        library().cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                       &workspace_bytes, sizeof workspace_bytes));
  int count = 0;
  const cublasStatus_t status = library().cublasLtMatmulAlgoGetHeuristic(
      handle_of(device), d.operation.get(), d.right.get(), d.left.get(), d.output.get(), d.output.get(), made,
      most_algorithms, found.data(), &count);
  return status == CUBLAS_STATUS_SUCCESS ? count : 0;
}

template <class T>
void set(Device device, const Description& d, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  check(device, "cublasLtMatmulDescSetAttribute",
        library().cublasLtMatmulDescSetAttribute(d.operation.get(), attribute, &value, sizeof value));
}

}  // namespace

std::optional<Fastest> fastest_of_cublas_lt(const Measure& measure, const Matmul& product,
                                            const Tensor& dbias) {
  const Context& context = measure.context();
  const kernels::cuda::DeviceStream at(context);
  at.select_device("cublasLtMatmul");
  const Description d(at.device, context.arithmetic(), product);
  if (dbias) {
    set(at.device, d, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
    set(at.device, d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(dbias.raw()));
  }
  const Arena::Scope scope(context.scratch());
  const Tensor workspace =
      context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(kernels::cuda::most_workspace_bytes)});
  const float alpha = 1, beta = product.added_MN ? 1 : 0;
  /// Returns none if the library named a way that it does not have.
  const auto seconds_of = [&](const cublasLtMatmulHeuristicResult_t& way,
                              int times) -> std::optional<double> {
    cublasStatus_t status = way.state;
    const auto run = [&] {
      if (status != CUBLAS_STATUS_SUCCESS) return;
      status = library().cublasLtMatmul(handle_of(at.device), d.operation.get(), &alpha,
                                        product.right.stored.raw(), d.right.get(), product.left.stored.raw(),
                                        d.left.get(), &beta,
                                        (product.added_MN ? product.added_MN : product.output_MN).raw(),
                                        d.output.get(), product.output_MN.raw(), d.output.get(), &way.algo,
                                        workspace.raw(), way.workspaceSize, at.native());
    };
    const double seconds = measure.seconds(run, times);
    return status == CUBLAS_STATUS_SUCCESS ? std::optional(seconds) : std::nullopt;
  };
  Found found{};
  const int count = find(at.device, d, found);
  std::vector<std::pair<double, const cublasLtMatmulHeuristicResult_t*>> ways;
  for (const auto& way : std::span(found).first(static_cast<std::size_t>(count)))
    if (const auto seconds = seconds_of(way, times_at_first)) ways.emplace_back(*seconds, &way);
  if (ways.empty()) return std::nullopt;
  std::ranges::sort(ways);
  Fastest fastest{ways.front().first, static_cast<int>(ways.size())};
  for (std::size_t i = 0; i < std::min<std::size_t>(2, ways.size()); ++i) {  // as often as dt's products
    const double seconds = seconds_of(*ways[i].second, measure.times()).value_or(fastest.seconds);
    fastest.seconds = i == 0 ? seconds : std::min(fastest.seconds, seconds);
  }
  return fastest;
}

}  // namespace dt::test_device
