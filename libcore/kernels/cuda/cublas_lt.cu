// Products by NVIDIA's cuBLASLt, which is loaded when the first is multiplied: the program starts, and trains
// on CPUs, where there is none.
//
// The same call gives the same bits: the algorithm is the first that the library's heuristic names for a
// problem, never one that measurements chose, and the library promises that an algorithm repeats its bits on
// one kind of GPU. Of the ways to add what parts of the inner dimension give, one alone is let: in the
// compute type, in the workspace, by a step of its own. (Others would round partial sums to the output's
// type.) Each product's workspace is the context's own, so that streams have none in common.

#include <algorithm>
#include <array>
#include <compare>
#include <cublasLt.h>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/products.hpp"

namespace dt::kernels::cuda {

namespace {

#define DT_CUBLAS_LT(FUNCTION)                   \
  FUNCTION(cublasLtCreate)                       \
  FUNCTION(cublasLtGetStatusString)              \
  FUNCTION(cublasLtMatmul)                       \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic)       \
  FUNCTION(cublasLtMatmulDescCreate)             \
  FUNCTION(cublasLtMatmulDescDestroy)            \
  FUNCTION(cublasLtMatmulDescSetAttribute)       \
  FUNCTION(cublasLtMatmulPreferenceCreate)       \
  FUNCTION(cublasLtMatmulPreferenceDestroy)      \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute) \
  FUNCTION(cublasLtMatrixLayoutCreate)           \
  FUNCTION(cublasLtMatrixLayoutDestroy)

/// The functions of the library, by its names for them.
struct Library {
#define DT_MEMBER(name) decltype(&::name) name;
  DT_CUBLAS_LT(DT_MEMBER)
#undef DT_MEMBER
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) throw Error(ErrorKind::environment, fmt::format("cuBLASLt: {}", ::dlerror()));
}

/// It stays loaded: a library that a driver knows of is not taken away.
Library load() {
  std::string why_not;
  for (const char* name :
       {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"}) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      Library functions{};
#define DT_FIND(function) find(library, #function, functions.function);
      DT_CUBLAS_LT(DT_FIND)
#undef DT_FIND
      return functions;
    }
    why_not += fmt::format("; {}", ::dlerror());
  }
  throw Error(
      ErrorKind::environment,
      "products on a GPU take cuBLASLt of CUDA 13 or 12, which is not where the loader looks" + why_not,
      "name its folder in LD_LIBRARY_PATH");
}

const Library& library() {
  static const Library loaded = load();
  return loaded;
}

void check(const Context& context, const char* what, cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    dt::cuda::fail(context.device(), what, library().cublasLtGetStatusString(status));
}

/// Gives back what the library made.
template <auto Library::*destroy>
struct Destroy {
  template <class T>
  void operator()(T* made) const {
    (library().*destroy)(made);
  }
};
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<&Library::cublasLtMatmulDescDestroy>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<&Library::cublasLtMatrixLayoutDestroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<&Library::cublasLtMatmulPreferenceDestroy>>;

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      DT_CHECK(false, "cuBLASLt: there is no product of {}", dtype_name(dtype));
      return CUDA_R_32F;
  }
}

/// The library knows columns: what lies row by row is its transpose to it.
Layout layout_of(const Context& context, const Tensor& stored) {
  cublasLtMatrixLayout_t layout = nullptr;
  const auto rows = static_cast<std::uint64_t>(stored.dim(0)),
             columns = static_cast<std::uint64_t>(stored.dim(1));
  check(context, "cublasLtMatrixLayoutCreate",
        library().cublasLtMatrixLayoutCreate(&layout, type_of(stored.dtype()), columns, rows, stored.dim(1)));
  return Layout(layout);
}

/// A product as the library is told: outputᵀ = rightᵀ · leftᵀ, whose bias is a column.
class Description {
 public:
  Description(const Context& context, const Product& p)
      : right(layout_of(context, p.right.stored)),
        left(layout_of(context, p.left.stored)),
        output(layout_of(context, p.output_MN)) {
    const bool is_f64 = p.output_MN.dtype() == DType::f64;
    cublasLtMatmulDesc_t made = nullptr;
    check(context, "cublasLtMatmulDescCreate",
          library().cublasLtMatmulDescCreate(&made, is_f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                             is_f64 ? CUDA_R_64F : CUDA_R_32F));
    operation.reset(made);
    const auto as_stored = [](const Factor& factor) { return factor.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    set(context, CUBLASLT_MATMUL_DESC_TRANSA, as_stored(p.right));
    set(context, CUBLASLT_MATMUL_DESC_TRANSB, as_stored(p.left));
    if (!p.bias_N) return;
    set(context, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(context, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(p.bias_N.raw()));
  }
  Layout right, left, output;
  Operation operation;

 private:
  template <class T>
  void set(const Context& context, cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(context, "cublasLtMatmulDescSetAttribute",
          library().cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof value));
  }
};

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
  DType factors, output;
  bool left_transposed, right_transposed;
  std::array<std::int64_t, 3> sizes;        // M, N, K
  std::array<std::uint32_t, 5> alignments;  // of right, left, added, output, bias

  auto operator<=>(const Problem&) const = default;
};

Problem problem_of(const Context& context, const Product& p) {
  return {.device = context.device().index(),
          .factors = p.left.stored.dtype(),
          .output = p.output_MN.dtype(),
          .left_transposed = p.left.transposed,
          .right_transposed = p.right.transposed,
          .sizes = {p.output_MN.dim(0), p.output_MN.dim(1), p.left.stored.dim(p.left.transposed ? 0 : 1)},
          .alignments = {alignment_of(p.right.stored), alignment_of(p.left.stored), alignment_of(p.added_MN),
                         alignment_of(p.output_MN), alignment_of(p.bias_N)}};
}

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

struct Algorithm {
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes;
};

/// The library's states, and what it said so far: any rank's thread may ask.
class Algorithms {
 public:
  /// Of the context's device, which is the thread's current one. It stays: at the program's end the driver
  /// may have gone first.
  cublasLtHandle_t handle(const Context& context) {
    const std::lock_guard lock(mutex_);
    cublasLtHandle_t& handle = handles_[context.device().index()];
    if (handle == nullptr) check(context, "cublasLtCreate", library().cublasLtCreate(&handle));
    return handle;
  }
  /// None where the library has none for such a problem.
  std::optional<Algorithm> choose(const Context& context, const Problem& problem, const Description& d) {
    const cublasLtHandle_t library_handle = handle(context);
    const std::lock_guard lock(mutex_);
    const auto known = chosen_.find(problem);
    if (known != chosen_.end()) return known->second;
    return chosen_.emplace(problem, ask(context, library_handle, problem, d)).first->second;
  }

 private:
  static std::optional<Algorithm> ask(const Context& context, cublasLtHandle_t handle, const Problem& problem,
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

  std::mutex mutex_;
  std::map<int, cublasLtHandle_t> handles_;
  std::map<Problem, std::optional<Algorithm>> chosen_;
};

Algorithms& algorithms() {
  static Algorithms all;
  return all;
}

/// False where the library has no algorithm for it.
bool enqueued(const Context& context, const Product& p) {
  const Description d(context, p);
  use_gpu_of(context, "cublasLtMatmul");
  const std::optional<Algorithm> chosen = algorithms().choose(context, problem_of(context, p), d);
  if (!chosen) return false;
  const Arena::Scope scope(context.scratch());
  const Tensor workspace =
      context.scratch().allocate(DType::u8, {static_cast<std::int64_t>(chosen->workspace_bytes)});
  const auto multiply_with = [&](auto alpha, auto beta) {
    return library().cublasLtMatmul(
        algorithms().handle(context), d.operation.get(), &alpha, p.right.stored.raw(), d.right.get(),
        p.left.stored.raw(), d.left.get(), &beta, (p.added_MN ? p.added_MN : p.output_MN).raw(),
        d.output.get(), p.output_MN.raw(), d.output.get(), &chosen->algorithm, workspace.raw(),
        chosen->workspace_bytes, reinterpret_cast<cudaStream_t>(context.stream()));
  };
  check(context, "cublasLtMatmul",
        p.output_MN.dtype() == DType::f64 ? multiply_with(1.0, p.added_MN ? 1.0 : 0.0)
                                          : multiply_with(1.0F, p.added_MN ? 1.0F : 0.0F));
  return true;
}

}  // namespace

void multiply(const Context& context, const Product& product) {
  if (enqueued(context, product)) return;
  Product without_bias = product;
  without_bias.bias_N = Tensor();
  if (!product.bias_N || !enqueued(context, without_bias)) {
    throw Error(ErrorKind::environment,
                fmt::format("{}: cuBLASLt has no algorithm for a product of {} into {} {}",
                            context.device().to_string(), dtype_name(product.left.stored.dtype()),
                            dtype_name(product.output_MN.dtype()), product.output_MN.shape().to_string()));
  }
  cuda::add_bias_residual(context, product.output_MN, product.bias_N, Tensor(), product.output_MN);
}

}  // namespace dt::kernels::cuda
