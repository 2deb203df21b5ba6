#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "kernels/cuda/cublas_lt/algorithms.cuh"

namespace dt::kernels::cuda::cublas_lt {

namespace {

using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&Library::cublasLtMatmulPreferenceDestroy>>;

/// Of a tensor's memory, in bytes, as far as the widest loads care; 0 where it is absent. No further: where
/// tensors lie depends on the layout, and algorithms, and so bits, must not.
std::uint32_t alignment_of(const Tensor& tensor) {
  constexpr std::uintptr_t most = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.raw());
  return static_cast<std::uint32_t>(std::min(address & -address, address == 0 ? 0 : most));
}

/// What an algorithm is chosen for.
struct Problem {
  int device;
  Arithmetic arithmetic;
  DType factors, output;
  bool left_transposed, right_transposed;
  std::array<std::int64_t, 3> sizes;        // M, N, K
  std::array<std::int64_t, 3> pitches;      // of right, left, output
  std::array<std::uint32_t, 5> alignments;  // of right, left, added, output, bias

  auto operator<=>(const Problem&) const = default;
};

Problem problem_of(const Context& context, const Product& p) {
  return {.device = context.device().index(),
          .arithmetic = context.arithmetic(),
          .factors = p.left.stored.dtype(),
          .output = p.output_MN.dtype(),
          .left_transposed = p.left.transposed,
          .right_transposed = p.right.transposed,
          .sizes = {p.output_MN.dim(0), p.output_MN.dim(1), p.left.stored.dim(p.left.transposed ? 0 : 1)},
          .pitches = {p.right.stored.pitch(), p.left.stored.pitch(), p.output_MN.pitch()},
          .alignments = {alignment_of(p.right.stored), alignment_of(p.left.stored), alignment_of(p.added_MN),
                         alignment_of(p.output_MN), alignment_of(p.bias_N)}};
}

/// Of the ways to add what parts of the inner dimension give, one alone is let: in the compute type, in the
/// workspace, by a step of its own. Others would round partial sums to the output's type.
Preference preference_for(const Context& context, const Problem& problem) {
  cublasLtMatmulPreference_t made = nullptr;
  check(context, "cublasLtMatmulPreferenceCreate", library().cublasLtMatmulPreferenceCreate(&made));
  Preference preference(made);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(context, "cublasLtMatmulPreferenceSetAttribute",
          library().cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{most_workspace_bytes});
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  const auto [right, left, added, output, bias] = problem.alignments;
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, right);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, left);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, added == 0 ? output : added);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, output);
  return preference;
}

std::optional<Algorithm> ask(const Context& context, cublasLtHandle_t handle, const Problem& problem,
                             const Description& d) {
  const Preference preference = preference_for(context, problem);
  cublasLtMatmulHeuristicResult_t first{};
  int count = 0;
  const cublasStatus_t status = library().cublasLtMatmulAlgoGetHeuristic(
      handle, d.operation.get(), d.right.get(), d.left.get(), d.output.get(), d.output.get(),
      preference.get(), 1, &first, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(context, "cublasLtMatmulAlgoGetHeuristic", status);
  if (count == 0 || first.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  return Algorithm{first.algo, first.workspaceSize};
}

}  // namespace

std::optional<Algorithm> choose_algorithm(const Context& context, const Product& product,
                                          const Description& description) {
  static std::mutex mutex;
  static std::map<Problem, std::optional<Algorithm>> chosen;
  const Problem problem = problem_of(context, product);
  const cublasLtHandle_t handle = handle_of(context);
  const std::lock_guard lock(mutex);
  const auto known = chosen.find(problem);
  if (known != chosen.end()) return known->second;
  return chosen.emplace(problem, ask(context, handle, problem, description)).first->second;
}

}  // namespace dt::kernels::cuda::cublas_lt
