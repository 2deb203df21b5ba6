// Multiplies by NVIDIA's cuBLASLt.
//
// The same call gives the same bits. The algorithm is the first that the library's heuristic names
// for a problem, never one that measurements chose. The library promises that an algorithm repeats
// its bits on one kind of GPU. Each product's workspace is the context's own, so that streams share
// none.

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/cuda/launch/launch.cuh"
#include "kernels/cuda/matmul/cublas_lt/library.cuh"
#include "kernels/cuda/matmul/cublas_lt/multiply.cuh"

namespace dt::kernels::cuda::cublas_lt {

namespace {

using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&Library::cublasLtMatmulPreferenceDestroy>>;

/// Returns the alignment of a tensor's memory in bytes, up to that of the widest loads, or 0 if the
/// tensor is absent. Higher alignments do not count: the addresses of tensors depend on the layout,
/// and algorithms, and so bits, must not.
std::uint32_t alignment_of(const Tensor& tensor) {
  constexpr std::uintptr_t most = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.raw());
  return static_cast<std::uint32_t>(std::min(address & -address, address == 0 ? 0 : most));
}

/// A problem that an algorithm is chosen for.
struct Problem {
  int device;
  Arithmetic arithmetic;
  DType factors, output;
  bool left_transposed, right_transposed;
  std::array<std::int64_t, 3> sizes;        // M, N, K
  std::array<std::int64_t, 3> pitches;      // right, left, output
  std::array<std::uint32_t, 5> alignments;  // right, left, added, output, bias

  auto operator<=>(const Problem&) const = default;
};

Problem problem_of(const Context& context, const Matmul& p) {
  return {.device = context.device().index(),
          .arithmetic = p.arithmetic_in(context),
          .factors = p.left.stored.dtype(),
          .output = p.output_MN.dtype(),
          .left_transposed = p.left.transposed,
          .right_transposed = p.right.transposed,
          .sizes = {p.output_MN.dim(0), p.output_MN.dim(1), p.left.stored.dim(p.left.transposed ? 0 : 1)},
          .pitches = {p.right.stored.pitch(), p.left.stored.pitch(), p.output_MN.pitch()},
          .alignments = {alignment_of(p.right.stored), alignment_of(p.left.stored), alignment_of(p.added_MN),
                         alignment_of(p.output_MN), alignment_of(p.bias_N)}};
}

/// Returns the preference of a problem. Of the ways to add partial sums over the inner dimension, it
/// allows only one: in the compute type, in the workspace, by a step of its own. Others would round
/// partial sums to the output's type. With a bias it allows none: that step would round the sum
/// before it adds the bias.
/// Source: github.com/pytorch/pytorch/pull/180875.
Preference preference_for(Device device, const Problem& problem) {
  cublasLtMatmulPreference_t made = nullptr;
  check(device, "cublasLtMatmulPreferenceCreate", library().cublasLtMatmulPreferenceCreate(&made));
  Preference preference(made);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(device, "cublasLtMatmulPreferenceSetAttribute",
          library().cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{most_workspace_bytes});
  const auto [right, left, added, output, bias] = problem.alignments;
  const cublasLtReductionScheme_t scheme =
      bias > 0 ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, static_cast<std::uint32_t>(scheme));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, right);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, left);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, added == 0 ? output : added);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, output);
  return preference;
}

/// Returns one of an algorithm's settings, or nothing if the library does not know it.
template <class T>
std::optional<T> value_of(const Algorithm& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value = 0;
  const cublasStatus_t status = library().cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm.algorithm, attribute, &value, sizeof value, nullptr);
  return status == CUBLAS_STATUS_SUCCESS ? std::optional(value) : std::nullopt;
}

/// Returns whether the algorithm sums parts of the inner dimension separately.
bool splits(const Algorithm& algorithm) {
  return value_of<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM).value_or(1) > 1;
}

std::optional<Algorithm> ask(Device device, const Problem& problem, const Matmul& product) {
  const Description d(device, problem.arithmetic, product);
  const Preference preference = preference_for(device, problem);
  cublasLtMatmulHeuristicResult_t first{};
  int count = 0;
  const cublasStatus_t status = library().cublasLtMatmulAlgoGetHeuristic(
      handle_of(device), d.operation.get(), d.right.get(), d.left.get(), d.output.get(), d.output.get(),
      preference.get(), 1, &first, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(device, "cublasLtMatmulAlgoGetHeuristic", status);
  if (count == 0 || first.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  const Algorithm algorithm{first.algo, first.workspaceSize};
  if (product.bias_N && splits(algorithm)) return std::nullopt;  // the preference did not exclude it
  return algorithm;
}

/// The choices of one process, for all its GPUs.
struct Choices {
  std::mutex mutex;
  std::map<Problem, std::optional<Algorithm>> of;
};

Choices& choices() {
  static Choices choices;
  return choices;
}

template <class T>
std::string setting_of(const Algorithm& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  const std::optional<T> value = value_of<T>(algorithm, attribute);
  return value ? std::to_string(*value) : "?";
}

/// Returns the algorithm's number, then all its settings, by the library's names for them.
std::string describe(const Algorithm& a) {
  return fmt::format(
      "algorithm {}, tile {}, stages {}, split-K {}, reduction {}, swizzling {}, option {}, inner shape {}, "
      "cluster {}, workspace {}",
      setting_of<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_ID),
      setting_of<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_TILE_ID),
      setting_of<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      setting_of<std::int32_t>(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      setting_of<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME),
      setting_of<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
      setting_of<std::uint32_t>(a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
      setting_of<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID),
      setting_of<std::uint16_t>(a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID), a.workspace_bytes);
}

/// Returns "bf16 8×768ᵀ · 768×3072 → f32, with bias": operands as they are stored, ᵀ if they are
/// transposed.
std::string describe(const Problem& p) {
  const auto [rows, columns, inner] = p.sizes;
  const auto factor = [](std::int64_t m, std::int64_t n, bool transposed) {
    return transposed ? fmt::format("({}×{})ᵀ", n, m) : fmt::format("{}×{}", m, n);
  };
  const auto [right, left, added, output, bias] = p.alignments;
  return fmt::format("{} {} · {} → {}{}{}{}", dtype_name(p.factors), factor(rows, inner, p.left_transposed),
                     factor(inner, columns, p.right_transposed), dtype_name(p.output),
                     bias > 0 ? " + bias" : "", added > 0 ? " + sum" : "",
                     p.factors == DType::f32 && p.arithmetic == Arithmetic::tf32 ? " in TF32" : "");
}

/// The work of a product on a stream.
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

std::optional<Algorithm> choose_algorithm(const Context& context, const Matmul& product) {
  const Problem problem = problem_of(context, product);
  const std::lock_guard lock(choices().mutex);
  std::map<Problem, std::optional<Algorithm>>& chosen = choices().of;
  const auto known = chosen.find(problem);
  if (known != chosen.end()) return known->second;
  return chosen.emplace(problem, ask(context.device(), problem, product)).first->second;
}

}  // namespace dt::kernels::cuda::cublas_lt

namespace dt::kernels::cuda {

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
  accelerator().submit(at.stream, key, Call{at, product.arithmetic_in(context), product, *chosen, workspace});
  return true;
}

std::vector<std::string> matmul_algorithms() {
  using namespace cublas_lt;
  const std::lock_guard lock(choices().mutex);
  std::set<std::string> lines;  // one line for problems that differ only in GPU, pitches and addresses
  for (const auto& [problem, algorithm] : choices().of) {
    if (algorithm) lines.insert(describe(problem) + ": " + describe(*algorithm));
  }
  return {lines.begin(), lines.end()};
}

}  // namespace dt::kernels::cuda
