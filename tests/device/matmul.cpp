// cuBLASLt's products, computed by the reference in fp64; each result is rounded once.

#include "device/matmul.hpp"

#include <bit>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/test_device.hpp"
#include "kernels/cuda/launch/elements.hpp"
#include "kernels/cuda/launch/grid.hpp"
#include "kernels/cuda/launch/kernels.hpp"
#include "kernels/reference/kernels.hpp"

namespace dt::test_device {

namespace {

template <class T>
double widened(T value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<float>(value);
  }
}

template <class T>
T narrowed(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return T(static_cast<float>(value));
  }
}

/// Calls body(elements) for each row of a matrix, without padding, or once for a vector.
template <class T, class Body>
void for_rows(const Tensor& tensor, const Body& body) {
  if (tensor.shape().rank() == 1) return body(tensor.span<T>());
  const auto columns = static_cast<std::size_t>(tensor.dim(1));
  for (std::int64_t r = 0; r < tensor.dim(0); ++r)
    body(std::span<T>(tensor.data<T>() + r * tensor.pitch(), columns));
}

/// A tensor's elements in fp64, in host memory; empty for an absent tensor.
class Wide {
 public:
  explicit Wide(const Tensor& tensor) : shape_(tensor.shape()) {
    if (!tensor) return;
    kernels::cuda::with_elements(tensor.dtype(), [&](auto element) {
      for_rows<decltype(element)>(tensor, [&](auto row) {
        for (const auto value : row) values_.push_back(widened(value));
      });
    });
  }
  /// Returns fp32 rounded to TF32: the nearest value with 10 bits of mantissa, ties to even.
  Wide rounded_to_tf32() const {
    Wide result(*this);
    for (double& value : result.values_) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      value = std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffU);
    }
    return result;
  }
  Wide transposed() const {
    Wide result(*this);
    const std::int64_t rows = shape_[0], columns = shape_[1];
    result.shape_ = {columns, rows};
    for (std::int64_t i = 0; i < rows * columns; ++i)
      result.values_[static_cast<std::size_t>(i % columns * rows + i / columns)] =
          values_[static_cast<std::size_t>(i)];
    return result;
  }
  Tensor tensor() {
    return values_.empty() ? Tensor() : Tensor(values_.data(), DType::f64, shape_, Device::host());
  }
  void write(const Tensor& tensor) const {
    kernels::cuda::with_elements(tensor.dtype(), [&](auto element) {
      using T = decltype(element);
      const double* value = values_.data();
      for_rows<T>(tensor, [&](std::span<T> row) {
        for (T& to : row) to = narrowed<T>(*value++);
      });
    });
  }

 private:
  Shape shape_;
  std::vector<double> values_;
};

/// Refuses what cuBLASLt would refuse.
void check(const kernels::cuda::Matmul& p) {
  const DType factors = p.left.stored.dtype(), output = p.output_MN.dtype();
  const bool is_wide = dtype_bytes(factors) == 2 && output == DType::f32;
  DT_CHECK(p.right.stored.dtype() == factors && (output == factors || is_wide), "multiply: {} into {}",
           dtype_name(factors), dtype_name(output));
  for (const Tensor* added : {&p.bias_N, &p.added_MN})
    DT_CHECK(!*added || added->dtype() == output, "multiply: {} to {}", dtype_name(added->dtype()),
             dtype_name(output));
  DT_CHECK(!p.added_MN || p.added_MN.pitch() == p.output_MN.pitch(), "multiply: {} and {} elements a row",
           p.added_MN.pitch(), p.output_MN.pitch());
  DT_CHECK(reinterpret_cast<std::uintptr_t>(p.bias_N.raw()) % kernels::cuda::bias_alignment == 0,
           "multiply: a bias at {}", static_cast<const void*>(p.bias_N.raw()));
  for (const Tensor* matrix : {&p.left.stored, &p.right.stored, &p.output_MN})
    DT_CHECK(matrix->numel() > 0, "multiply: an empty matrix {}", matrix->shape().to_string());
}

void multiply(const kernels::cuda::Matmul& p, Arithmetic arithmetic) {
  const bool is_tf32 = arithmetic == Arithmetic::tf32 && p.left.stored.dtype() == DType::f32;
  const auto wide = [&](const kernels::cuda::MatmulOperand& factor, bool transposed) {
    const Wide stored = is_tf32 ? Wide(factor.stored).rounded_to_tf32() : Wide(factor.stored);
    return factor.transposed == transposed ? stored : stored.transposed();
  };
  Wide left_MK = wide(p.left, false), right_NK = wide(p.right, true);
  Wide bias(p.bias_N), added(p.added_MN), output(p.output_MN);
  const Context context(1, Device::host());
  kernels::reference::linear<double>(context, left_MK.tensor(), right_NK.tensor(), bias.tensor(),
                                     added.tensor(), output.tensor());
  output.write(p.output_MN);
}

std::mutex mutex;
std::set<std::string> products;
std::function<void(const kernels::cuda::Matmul&)> observer;

std::string described(const kernels::cuda::Matmul& p) {
  return fmt::format("{} {} · {}: in loops", dtype_name(p.left.stored.dtype()),
                     p.left.stored.shape().to_string(), p.right.stored.shape().to_string());
}

/// Records a problem for which cuBLASLt chooses an algorithm; here all have the same.
void note(const kernels::cuda::Matmul& p) {
  const std::lock_guard lock(mutex);
  products.insert(described(p));
  if (observer) observer(p);
}

/// Returns the problem for which cuBLASLt may load a kernel.
std::string problem_of(const kernels::cuda::Matmul& p) {
  return fmt::format("{} {}{} {} {} {}", described(p), p.left.transposed, p.right.transposed,
                     dtype_name(p.output_MN.dtype()), bool(p.bias_N), bool(p.added_MN));
}

std::vector<std::string> products_so_far() {
  const std::lock_guard lock(mutex);
  return {products.begin(), products.end()};
}

}  // namespace

void observe_products(std::function<void(const kernels::cuda::Matmul&)> with) {
  const std::lock_guard lock(mutex);
  observer = std::move(with);
}

}  // namespace dt::test_device

namespace dt::kernels::cuda {

bool enqueue_matmul(const Context& context, const Matmul& product) {
  test_device::check(product);
  test_device::note(product);
  test_device::submit(
      context, key_of(context, product),
      {"multiply",
       {},
       1,
       0,
       [product, arithmetic = product.arithmetic_in(context)] { test_device::multiply(product, arithmetic); },
       test_device::problem_of(product)});
  return true;
}

std::string matmul_library() {
  return "reference products";
}

std::vector<std::string> matmul_algorithms() {
  return test_device::products_so_far();
}

}  // namespace dt::kernels::cuda
