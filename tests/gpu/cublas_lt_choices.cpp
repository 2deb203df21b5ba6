// Checks dt's requests to cuBLASLt for an algorithm, and the algorithm that dt takes. A library in
// cuBLASLt's place records them, so neither a GPU nor cuBLASLt is needed. cuBLASLt's own heuristic does not
// answer without NVIDIA's driver, whatever a library in the driver's place says of a GPU. The CUDA runtime
// in cuBLASLt checks the driver's integrity first.

#include <dlfcn.h>
#include <iostream>
#include <optional>
#include <vector>

#include "gpu/cublas_lt_stand_in.hpp"
#include "gpu/no_device.hpp"
#include "kernels/cuda/matmul/cublas_lt/multiply.cuh"
#include "tensor/context.hpp"

namespace {

using dt::DType;
using dt::Tensor;
using dt::kernels::cuda::Matmul;
using dt::kernels::cuda::cublas_lt::choose_algorithm;
using dt::test_device::Answer;
using dt::test_device::Asked;

int failures = 0;

void check(bool is_so, const char* what) {
  if (is_so) return;
  ++failures;
  std::cout << "not so: " << what << "\n";
}

template <class T>
T& of_library(const char* name) {
  void* const loaded = ::dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  void* const found = loaded == nullptr ? nullptr : ::dlsym(loaded, name);
  if (found == nullptr) throw dt::environment_error("the library in cuBLASLt's place is not loaded");
  return *static_cast<T*>(found);
}

/// Returns products with a number of rows that no other problem has.
class Products {
 public:
  Matmul operator()(std::size_t bias_bytes) {
    ++rows_;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      return Tensor(memory_.data(), DType::bf16, {rows, columns}, dt::Device::gpu(0));
    };
    Matmul p{.left = {matrix(rows_, 16)},
             .right = {matrix(8, 16), true},
             .bias_N = Tensor(),
             .added_MN = Tensor(),
             .output_MN = matrix(rows_, 8)};
    if (bias_bytes > 0)
      p.bias_N = Tensor(reinterpret_cast<std::byte*>(memory_.data()) + bias_bytes, DType::bf16, {8},
                        dt::Device::gpu(0));
    return p;
  }

 private:
  std::int64_t rows_ = 0;
  std::vector<long double> memory_ = std::vector<long double>(256);  // aligned to 16 bytes
};

void check_all() {
  dt::test_device::NoDevice no_device;
  dt::set_accelerator(&no_device);
  const dt::Context context(1, dt::Device::gpu(0));
  Products product;
  choose_algorithm(context, product(0));  // loads the library
  const Asked& asked = of_library<Asked>("dt_asked");
  Answer& answer = of_library<Answer>("dt_answer");

  answer.parts = 4;
  const Matmul plain = product(0);
  check(choose_algorithm(context, plain).has_value(), "a product is summed in parts");
  check(asked.reduction_schemes == 2, "parts are summed in the compute type alone");
  check(asked.epilogue == 1 && asked.bias == nullptr, "without a bias there is no epilogue");
  check(asked.workspace_bytes == dt::kernels::cuda::most_workspace_bytes, "the workspace is limited");
  for (const std::uint32_t bytes : asked.alignments) check(bytes == 16, "operands are told aligned to 16");
  const int times = asked.times;
  choose_algorithm(context, plain);
  check(asked.times == times, "the same is asked once");

  const Matmul biased = product(64);
  check(choose_algorithm(context, biased).has_value(), "a product with a bias has an algorithm");
  check(asked.epilogue == 4 && asked.bias == biased.bias_N.raw(), "the bias is the epilogue's");
  check(asked.reduction_schemes == 0, "beside a bias nothing is summed in parts");

  answer.heeds_preference = false;
  check(!choose_algorithm(context, product(64)), "parts beside a bias are refused, whatever is answered");
  check(choose_algorithm(context, product(0)).has_value(), "parts without a bias are taken");
  answer.parts = 1;
  check(choose_algorithm(context, product(64)).has_value(), "one part beside a bias is taken");
}

}  // namespace

int main() {
  try {
    check_all();
  } catch (const dt::Error& error) {
    std::cout << error.message() << "\n";
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
