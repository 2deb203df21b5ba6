#pragma once
// Shared by the kernel tests: tensors with repeatable contents, and the checks that every fast
// kernel must pass.

#include <functional>
#include <vector>

#include "tensor/buffer.hpp"
#include "tensor/context.hpp"
#include "tensor/host_tensor.hpp"
#include "tensor/tensor.hpp"

namespace dt::kernels::test {

/// The setting of a case: the context, the dtype of tensors, and how far they lie from an aligned
/// address.
class Fixture {
 public:
  Fixture(const Context& context, DType dtype, std::int64_t misaligned_elements = 0)
      : context(context), dtype_(dtype), rounding_(dtype), misaligned_elements_(misaligned_elements) {}

  const Context& context;

  /// Rounds random values to this dtype too, so that the fp32 kernel gets the inputs of the dtype's
  /// kernel.
  void round_to(DType dtype) { rounding_ = dtype; }
  /// Returns the dtype of what kernels keep beside the fixture's tensors: f64 for f64, else f32.
  DType wide_dtype() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }
  /// Returns values in ±scale that depend only on `seed` and rounding, and are exact in fp32.
  Tensor random(Shape shape, std::uint64_t seed, double scale = 1);
  /// Returns a tensor of the given values in row-major order.
  Tensor values(Shape shape, const std::vector<double>& values);
  Tensor ids(const std::vector<std::int32_t>& values);
  /// Returns int32 values in [lowest, end).
  Tensor random_ids(std::int64_t count, std::int32_t lowest, std::int32_t end, std::uint64_t seed);
  /// Returns a tensor on the context's device, with the values of a tensor of the host.
  Tensor placed(const Tensor& tensor);
  /// Returns a tensor filled with NaN, so that elements that a kernel fails to write show.
  Tensor output(Shape shape);
  Tensor output_f64(Shape shape);
  /// Returns a tensor of wide_dtype(), filled with NaN.
  Tensor wide_output(Shape shape);
  Tensor wide_random(Shape shape, std::uint64_t seed, double scale = 1);
  /// Returns random values in another dtype than the fixture's.
  Tensor random_in(DType dtype, Shape shape, std::uint64_t seed, double scale = 1);
  /// Returns random values in a dtype that parameters' gradients may have: wide, or bf16 beside
  /// bf16.
  Tensor random_gradient(Shape shape, std::uint64_t seed, bool is_wide);
  /// padded() returns the same matrix, on a GPU with rows that are padded with NaN. unpadded()
  /// returns the matrix without padding, and checks that the padding is still NaN.
  Tensor padded(const Tensor& matrix);
  Tensor unpadded(const Tensor& matrix);
  /// Returns what all kernels so far wrote: `tensor` itself, or a copy if it lies on a GPU.
  Tensor on_host(const Tensor& tensor);

 private:
  Tensor allocate(DType dtype, Shape shape);
  Tensor unwritten(DType dtype, Shape shape);
  DType dtype_, rounding_;
  std::int64_t misaligned_elements_;
  std::vector<Buffer> buffers_;
  std::vector<HostMirror> copies_;
};

std::vector<double> to_doubles(const Tensor& tensor);
/// Returns ‖a − b‖ / ‖b‖; infinite if a value is not finite.
double relative_error(const Tensor& a, const Tensor& b);
bool same_bits(const Tensor& a, const Tensor& b);

/// Calls body once with each instruction set that dt has code for and this machine has.
void for_each_instruction_set(const std::function<void()>& body);

/// A function that builds its tensors with the fixture, runs a kernel and returns what the kernel
/// wrote.
using Case = std::function<std::vector<Tensor>(Fixture&)>;

/// The numbers of threads that must give the same bits: any two numbers, or only the same number.
enum class Threads { any, same };

/// Makes the checks of kernels for hosts pass without running: another program makes them.
void check_devices_only();

/// Checks the fp32 kernel with every instruction set of this machine. It agrees with its reference,
/// and takes no more scratch when it is called again. It gives the same bits wherever its buffers
/// lie and, for Threads::any, with 1, 2 and 3 threads.
void check_fast_kernel(const Case& run, Threads threads = Threads::any, double tolerance = 1e-5);

/// Makes the same checks of the kernel in bf16 and f16, multiplying in fp32 and in bf16. The
/// reference computes in fp32 from the rounded inputs.
void check_fast_half_kernel(const Case& run, Threads threads = Threads::any, double tolerance = 2e-2);

enum class Kernels { any, own };  // own: dt's kernels, also where a library has one
struct GpuTolerances {
  double f64 = 1e-12, f32 = 1e-6, f16 = 1.0 / (1 << 11), bf16 = 1.0 / (1 << 8);
};
/// Checks that the kernel for GPUs agrees with its reference in fp64, fp32 and the 16-bit floats,
/// by default rounded once. Checks that it touches nothing beyond its tensors. It gives the same
/// bits again when threads, blocks and streams take turns in other orders.
void check_gpu_kernel(const Case& run, const GpuTolerances& tolerances = {}, Kernels kernels = Kernels::any);

/// Checks that the kernel for GPUs gives the same bits wherever its buffers lie, also without the
/// alignment of its vector loads.
void check_gpu_places(const Case& run);

/// Checks that the kernel for GPUs agrees with the CPU's, wherever its buffers lie: for tensors of
/// `dtype` beside others.
void check_gpu_as_cpu(DType dtype, const Case& run, double tolerance = 1e-30);

/// Calls body with a fixture of the test device, which orders its work by the seed.
void on_test_device(DType dtype, std::uint64_t seed, const std::function<void(Fixture&)>& body,
                    Kernels kernels = Kernels::any, std::int64_t misaligned_elements = 0);

/// Checks by central differences that `gradient` is the gradient of `loss` with respect to the fp64
/// tensor x.
void check_gradient(const std::function<double()>& loss, const Tensor& x, const Tensor& gradient);

/// Returns Σ weights · y: a scalar whose gradient with respect to y is `weights`.
double weighted_sum(const Tensor& y, const Tensor& weights);

/// Checks that `call` fails with an error that names `kernel`.
void check_refused(const char* kernel, const std::function<void()>& call);

}  // namespace dt::kernels::test
